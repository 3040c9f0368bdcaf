#!/bin/sh
# Standard input and outputs that are closed, readers that have gone, signals that are ignored:
#     tests/faults/outputs.sh
# What it proves: no message goes into a file; a command whose reader has gone fails, or is
# interrupted, as any other, and leaves nothing behind; a message is written in one piece; a
# signal that whoever started the command wants ignored is, and SIGTERM is SIGINT's equal.
# shellcheck disable=SC2086,SC2154 # lines are words; strike comes from common.inc
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/common.inc"
failed=0
wrong() {
    echo "$*"
    [ ! -s why ] || sed 's/^/    /' why
    ls -lA out
    failed=1
}
models
bang explain gradcam --model in/a.safetensors --data mnist:split=test -o in/maps.png -q || exit 1
mkdir out in/photos in/photos/a in/photos/b
cp in/maps.png in/photos/a/1.png
cp in/maps.png in/photos/b/1.png
echo broken >in/photos/b/2.png
train() { # ARGUMENT...
    (cd out && exec bang train --data mnist --hidden 8 --batch 10 --threads 1 --log log.jsonl "$@" -o out.safetensors)
}
: >why

# A picture that is left out is told while the log is open.
skip() {
    (cd out && exec bang train --arch vit --width 8 --depth 1 --heads 1 --patch 8 --image-size 16 --threads 1 \
        --data ../in/photos --batch 1 --steps 3 --seed 3 --on-bad-image skip --log log.jsonl -o out.safetensors $quiet)
}
quiet=
skip >/dev/null 2>why || wrong "training"
grep -q '^bang train: left out: ' why || wrong "training: nothing is left out"
mv out expected
for closed in '2>&-' '<&- 2>&-' '<&- >&- 2>&-'; do
    mkdir out
    case $closed in *' >'*) quiet=-q ;; esac # what is printed would be missed
    eval "skip >>why $closed" || wrong "$closed: exit $?"
    diff -r out expected >why || wrong "$closed: other files"
    rm -rf out
done
rm -rf expected && mkdir out
train --steps 5 -q || wrong "training"
mv out expected && mkdir out
: >why
bang theory -p .9 --model 1,5 >&- 2>why
code=$?
[ $code -eq 1 ] || wrong "standard output is closed: exit $code"
grep -q '^bang: standard output: cannot be written' why || wrong "standard output is closed: not said"
bang theory -p .9 --model 1,5 >&- 2>&-
code=$?
[ $code -eq 1 ] || wrong "both outputs are closed: exit $code"

# The other end of a pipe that nobody reads any more: 3 writes into it.
mkfifo pipe
cat <pipe >nothing &
reader=$!
exec 3>pipe
kill -9 $reader
wait $reader 2>/dev/null
for line in 'theory -p .9 --model 1,5' 'simulate --example 1-2 --runs 2 --json' '--help'; do
    "$strike" 9 60000000 bang $line >&3 2>why
    code=$?
    [ $code -eq 1 ] || wrong "$line, the reader has gone: exit $code"
    [ ! -s why ] || wrong "$line, the reader has gone: who has seen enough is told so"
done
train --steps 5 >&3 2>&3
code=$?
: >why
[ $code -eq 1 ] || wrong "training, the reader has gone: exit $code"
[ "$(ls -A out)" = "$(ls -A expected)" ] || wrong "training, the reader has gone: other files"
rm -rf out && mkdir out

strike_train() { # COMMAND-TO-START-IT...: SIGINT after the first steps; standard error goes to 3
    (cd out && exec "$@" bang train --data mnist --hidden 8 --batch 10 --threads 1 --log log.jsonl \
        --log-every 1 --steps 1000000 -o out.safetensors 2>&3) &
    child=$!
    until [ -s out/log.jsonl ] || ! kill -0 $child 2>/dev/null; do sleep .02; done
    kill -s INT $child
}
strike_train env --default-signal=INT
wait $child
code=$?
[ $code -eq 130 ] || wrong "interrupted, the reader has gone: exit $code"
[ "$(ls -A out)" = 'log.jsonl
out.safetensors.state' ] || wrong "interrupted, the reader has gone: other files"
rm -rf out && mkdir out

# A shell ignores SIGINT for what runs in the background.
strike_train env --ignore-signal=INT
lines=$(wc -l <out/log.jsonl)
until [ "$(wc -l <out/log.jsonl)" -gt $((lines + 20)) ] || ! kill -0 $child 2>/dev/null; do sleep .02; done
kill -0 $child 2>/dev/null || wrong "SIGINT was to be ignored"
kill -s TERM $child
wait $child
code=$?
[ $code -eq 130 ] || wrong "SIGTERM: exit $code"
rm -rf out && mkdir out
exec 3>&-

# Also a command that has nothing to clear up; it reads a pipe that nobody writes to.
mkfifo never
sleep 600 >never &
writer=$!
bang diagnose --labels never --pre never --fine never 2>why &
child=$!
until [ "$(readlink -f /proc/$child/fd/* 2>/dev/null | grep -c '/never$')" -gt 0 ] || ! kill -0 $child 2>/dev/null; do sleep .02; done
kill -s TERM $child
wait $child
code=$?
kill -9 $writer
wait $writer 2>/dev/null
[ $code -eq 130 ] || wrong "SIGTERM before there is something to stop: exit $code"
grep -q '^bang[ a-z]*: interrupted$' why || wrong "SIGTERM before there is something to stop: not said"

# Every message is one piece.
: >why
"$strike" writes 0 bang inspect "no such file, and a name of some length" >pieces
cat pieces >why
[ "$(wc -l <pieces)" -eq 1 ] || wrong "a message in more than one piece"
grep -q '^[0-9]* bang inspect: no such file.*: No such file or directory$' pieces || wrong "another message"
"$strike" writes 0 bang theory --nonsense >pieces
cat pieces >why
[ "$(grep -c '^[0-9]' pieces)" -eq 1 ] || wrong "several problems in more than one piece"
[ "$(wc -l <pieces)" -gt 1 ] || wrong "not several problems"
[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
