#!/bin/sh
# Two processes with one output:
#     tests/faults/together.sh
# What it proves: who comes second is refused with a line that says why (or waits, where the
# cache is filled, and says so); whoever wins, the output is whole and all its own, and no
# temporary file and no lock is left; a lock that a killed run left blocks nobody.
# shellcheck disable=SC2086,SC2154 # lines are words; work comes from common.inc
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/common.inc"
command -v flock >/dev/null || { echo "flock is not installed"; exit 77; }
failed=0
wrong() {
    echo "$name: $*"
    sed 's/^/    /' why
    ls -lAR out
    failed=1
}
models
old_digits
printf '#!/bin/sh\necho 1\n' >in/score && chmod +x in/score

# NAME LOCK WORDS LINE: while somebody holds LOCK, the line is refused; when nobody does, it is not.
while read -r name lock words line; do
    line=$(echo "$line" | sed "s:IN/:$work/in/:g")
    words=$(echo "$words" | tr _ ' ')
    rm -rf out && mkdir -p "out/$(dirname "$lock")"
    flock "out/$lock" sh -c "cd out && $line" >said 2>why
    code=$?
    [ $code -eq 1 ] || wrong "while it is locked: exit $code"
    grep -q "$words" why || wrong "does not say: $words"
    [ "$(find out -type f)" = "out/$lock" ] || wrong "wrote although it is locked"
    (cd out && $line) >said 2>why || wrong "after a holder that is gone: exit $?"
    [ -z "$(find out -name '.?*')" ] || wrong "left $(find out -name '.?*')"
done <<'END'
average .out.safetensors.bang-part another_run_is_writing_it bang average IN/a.safetensors IN/b.safetensors -o out.safetensors -q
shards model/.model.safetensors.index.json.bang-part another_run_is_writing_it bang average IN/a.safetensors IN/b.safetensors -o model/ --shard-size 0.002M -q
train_mlp .out.safetensors.state.bang-lock another_run_is_writing_it bang train --data mnist --hidden 4 --steps 3 -o out.safetensors -q
train_vit .out.safetensors.state.bang-lock another_run_is_writing_it bang train --arch vit --width 8 --depth 1 --heads 1 --data mnist --steps 3 -o out.safetensors -q
search .out.safetensors.bang-lock another_run_is_writing_it bang average IN/a.safetensors IN/b.safetensors --alpha 0.3,0.5 --score IN/score -o out.safetensors -q
greedy .model.bang-lock another_run_is_writing_it bang average IN/a.safetensors IN/b.safetensors --method greedy --score IN/score -o model/ -q
train_out .out.safetensors.bang-lock another_run_is_writing_it bang train --data mnist --hidden 4 --steps 3 -o out.safetensors --state own -q
train_log .log.bang-lock another_run_is_writing_it bang train --data mnist --hidden 4 --steps 3 -o out.safetensors --log log -q
train_vit_log .log.bang-lock another_run_is_writing_it bang train --arch vit --width 8 --depth 1 --heads 1 --data mnist --steps 3 -o out.safetensors --log log -q
train .out.safetensors.bang-part another_run_is_writing_it bang train --data mnist --hidden 4 --steps 3 -o out.safetensors -q
data_make set/.bang-lock another_run_is_writing_here bang data make multicolor --count 60 -p 0.5 -o set -q
reproduce run/.bang-lock another_run_is_writing_here bang reproduce theory -o run -q
END

# The cache: who comes second waits, until it is told that the lock is free.
name=data_get
rm -rf out && mkdir out && mkfifo hold
flock out/.mnist.lock sh -c 'read -r _ <hold' &
while flock -n out/.mnist.lock true; do sleep 0.01; done
BANG_CACHE=out bang data get mnist --from in/digits >said 2>why &
pid=$!
while kill -0 $pid 2>/dev/null && ! grep -q 'another process is filling the cache' why; do sleep 0.01; done
[ -z "$(find out -type f ! -name .mnist.lock)" ] || wrong "wrote although it is locked"
echo go >hold
wait $pid || wrong "exit $?"
grep -q 'another process is filling the cache' why || wrong "does not say that it waits"
[ -z "$(find out -name '.?*')" ] || wrong "left $(find out -name '.?*')"
wait

# NAME ONE; OTHER: at the same time, again and again: each succeeds or is refused, and what is
# there in the end is one of the two results.
while read -r name rest; do
    rest=$(echo "$rest" | sed "s:IN/:$work/in/:g")
    one=${rest%%;*} other=${rest#*;}
    rm -rf first second && mkdir first second
    (cd first && $one) && (cd second && $other) || exit 1
    for _ in 1 2 3 4 5 6 7 8; do
        rm -rf out && mkdir out
        (cd out && $one 2>../why1) &
        pid=$!
        (cd out && $other 2>../why)
        codes=$?
        wait $pid
        codes="$? $codes"
        case $codes in
        '0 0' | '0 1' | '1 0') ;;
        *)
            cat why1 >>why
            wrong "exits $codes"
            ;;
        esac
        diff -r out first >/dev/null || diff -r out second >/dev/null || wrong "neither of the two"
    done
done <<'END'
average bang average IN/a.safetensors IN/b.safetensors -o out.safetensors -q;bang average IN/a.safetensors IN/b.safetensors -o out.safetensors --alpha 0.1 -q
shards bang average IN/a.safetensors IN/b.safetensors -o model/ --shard-size 0.002M -q;bang average IN/a.safetensors IN/b.safetensors --alpha 0.1 -o model/ --shard-size 0.004M -q
data_get env BANG_CACHE=. bang data get mnist --from IN/digits -q;env BANG_CACHE=. bang data get mnist --from IN/old -q
data_make bang data make multicolor --count 60 -p 0.5 -o set -q;bang data make multicolor --count 50 -p 0.2 -o set -q
train bang train --data mnist --hidden 4 --steps 30 --state-minutes 0 -o out.safetensors -q;bang train --data mnist --hidden 4 --steps 20 --seed 2 --state-minutes 0 -o out.safetensors -q
states bang train --data mnist --hidden 4 --steps 30 --state-minutes 0 --state one -o out.safetensors -q;bang train --data mnist --hidden 4 --steps 20 --seed 2 --state-minutes 0 --state two -o out.safetensors -q
logs bang train --data mnist --hidden 4 --steps 30 --log log -o out.safetensors -q;bang train --data mnist --hidden 4 --steps 20 --seed 2 --log log -o out.safetensors -q
search bang average IN/a.safetensors IN/b.safetensors --alpha 0.3,0.5 --score IN/score -o out.safetensors -q;bang average IN/a.safetensors IN/b.safetensors --alpha 0.1,0.2 --score IN/score -o out.safetensors -q
END
[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
