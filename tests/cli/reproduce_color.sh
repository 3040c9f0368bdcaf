# The experiments on coloured digits, on a stand-in for MNIST: what scripts read,
# the same bytes for any number of threads and for a run that was cut short.
# shellcheck source=/dev/null disable=SC2154
. "$here/digits.inc"
run reproduce multicolor singlecolor --seeds 2 --models 2 --threads 1 -o run --json >json
cut -c1-23 json
tr '{' '\n' <json | grep -o '"[a-z_0-9]*":$' | sort | uniq -c | awk '{ print $1, $2 }'
ls run
bang reproduce multicolor singlecolor --seeds 2 --models 2 --threads 2 -o two --quiet
cmp run/results.jsonl two/results.jsonl && echo same
# cut short after the first unit of the second data set, in the middle of a line
grep -n '"key":"singlecolor/seed-1x2"' run/results.jsonl | cut -d: -f1 >line
mkdir cut
head -n "$(cat line)" run/results.jsonl >cut/results.jsonl
printf '{"key":"singlecolor/se' >>cut/results.jsonl
bang reproduce multicolor singlecolor --seeds 2 --models 2 --resume -o cut --quiet
cmp run/results.jsonl cut/results.jsonl && cmp run/report.html cut/report.html && echo same
run reproduce multicolor singlecolor --seeds 2 --models 4 --resume -o cut
run reproduce multicolor --seeds 0x2 --models -1 --protocol none -o x
run reproduce multicolor --seeds 20000 --models 0 -o x
# one network has no ensemble; the others share their units
run reproduce multicolor ensemble-size --seeds 1 --models 1 -o one --quiet
grep -c '"key":"multicolor/seed' one/results.jsonl
run reproduce occlusion --seeds 1 -o seen --quiet --json | tail -n 1 | grep -o '"shared"'
for protocol in published paper; do
    bang reproduce singlecolor --seeds 1 --models 1 --protocol $protocol -o $protocol --quiet
    grep -o '"steps":[0-9]*,"batch":[0-9]*,"rate":[0-9.]*[0-9],"network":"[0-9-]*"' \
        $protocol/results.jsonl | cut -d, -f1,2,4 | sort -u
done
# the lab goes on with what was made with the same options only, and says so before any work
mkdir lab
printf '{"key":"lab/averages","experiment":"lab","options":{},"result":{}}\n' >lab/results.jsonl
run reproduce lab --resume -o lab
run reproduce lab --seeds 0
