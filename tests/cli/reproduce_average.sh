# Averaging on coloured digits and the terms of two layers, on a stand-in for MNIST: what scripts
# read, the same bytes for any number of threads and for a run that was cut short.
# shellcheck source=/dev/null disable=SC2154
. "$here/digits.inc"
run reproduce multicolor-average two-layer --seeds 2 --models 2 --threads 1 -o run --json >json
cut -c1-55 json
tr '{' '\n' <json | grep -o '"[a-zA-Z_0-9-]*":$' | sort | uniq -c | awk '{ print $1, $2 }'
ls run
grep -o '"key":"[a-z0-9/-]*"' run/results.jsonl
bang reproduce multicolor-average two-layer --seeds 2 --models 2 --threads 2 -o two --quiet
cmp run/results.jsonl two/results.jsonl && echo same
# cut short after the first unit, in the middle of a line
mkdir cut
head -n 1 run/results.jsonl >cut/results.jsonl
printf '{"key":"multicolor-average/se' >>cut/results.jsonl
bang reproduce multicolor-average two-layer --seeds 2 --models 2 --resume -o cut --quiet
cmp run/results.jsonl cut/results.jsonl && cmp run/report.html cut/report.html && echo same
run reproduce multicolor-average --seeds 2 --models 1 --resume -o cut
run reproduce two-layer --seeds 3 --models 2 --resume -o cut
# verdicts on items of the paper are listed by name; one pair is too few for any
grep -o '"item":"[A-Za-z0-9., ]*"' run/results.jsonl
bang reproduce multicolor-average two-layer --seeds 1 --models 1 -o one --quiet
grep -c '"kind":"verdict"' one/results.jsonl
