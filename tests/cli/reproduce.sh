# A run, its files, its report; resumed, it ends with the same bytes.
run reproduce theory -o run
ls run
run reproduce theory -o again --json | tail -1 | cut -c1-60
cmp run/results.jsonl again/results.jsonl && cmp run/report.html again/report.html && echo same
head -n 3 run/results.jsonl >cut.jsonl
printf '{"key": "torn' >>cut.jsonl
mkdir resumed && cp cut.jsonl resumed/results.jsonl
run reproduce theory -o resumed --resume --quiet
cmp run/results.jsonl resumed/results.jsonl && echo same
run report run -o report.html
cmp report.html run/report.html && echo same
# refused
run reproduce
run reproduce nonsense -o x
run reproduce theory --quick --full -o x
run report
run report nowhere -o x.html
run report run
ls
# records of earlier runs are set aside, none over another
for _ in 1 2 3; do run reproduce theory -o anew; done
ls anew/*.jsonl
# what a killed run left goes, beside models too; links lead elsewhere
mkdir -p anew/models/seed-1 elsewhere && ln -s ../../elsewhere anew/models/seed-2
touch anew/.x.csv.bang-part anew/models/seed-1/.pre.safetensors.bang-part elsewhere/.x.bang-part
bang reproduce theory -o anew --resume --quiet
find anew elsewhere -name '.?*'
