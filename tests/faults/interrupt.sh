#!/bin/sh
# SIGINT at random moments of long work:
#     tests/faults/interrupt.sh
# What it proves: the command stops within seconds with exit 130, says that it was interrupted
# and, where something is kept, how to go on; no file is half written, no temporary file and no
# lock is left; going on ends with the bytes of a run that was not interrupted. A signal that
# comes before a command has begun or when it is done changes neither.
# shellcheck disable=SC2012,SC2013,SC2059,SC2086,SC2154 # lines are words; names here are plain
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/common.inc"
seed=${FAULTS_SEED:-1}
signals=${FAULTS_SIGNALS:-8}
failed=0 seen=0
wrong() {
    echo "$name after $moment us (FAULTS_SEED=$seed): $*"
    sed 's/^/    /' why
    ls -lAR out
    failed=1
}
models
bang predict --model in/a.safetensors --data mnist -o in/a.npy --labels in/y.npy -q
bang predict --model in/b.safetensors --data mnist -o in/b.npy -q
head -c 8000000 /dev/zero >in/zeros
large() { # NAME: a checkpoint of 8 MB
    header='{"w":{"dtype":"F32","shape":[2000000],"data_offsets":[0,8000000]}}'
    printf "$(printf '\\%03o\\0\\0\\0\\0\\0\\0\\0' ${#header})" >"$1"
    printf '%s' "$header" >>"$1"
    cat in/zeros >>"$1"
}
large in/large.safetensors

# NAME KEPT LINE: KEPT is "state" where --resume goes on, else "-".
while read -r name kept line; do
    rm -rf ref && mkdir ref
    killed=0 said=0
    line=$(echo "$line" | sed "s:IN/:$work/in/:g")
    time=$(cd ref && "$strike" measure 0 $line) || { echo "$name: fails"; exit 1; }
    rm -rf ref && mkdir ref
    (cd ref && $line >../expected 2>../why) || { cat why; exit 1; }
    for moment in $(awk -v n="$signals" -v t="$time" -v seed="$seed" \
        'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%d\n", t * (i + rand()) / n }'); do
        rm -rf out && mkdir out
        (cd out && "$strike" 2 "$moment" $line) >said 2>why
        code=$?
        case $code in
        0) diff -r out ref >/dev/null || wrong "exit 0, but other files" ;;
        130)
            case $(cat why) in
            'strike: ended by signal 2') killed=$((killed + 1)) ;;
            *)
                said=$((said + 1))
                grep -q "^bang[ a-z]*: interrupted" why || wrong "does not say so"
                ;;
            esac
            [ -z "$(find out -name '.?*')" ] || wrong "left $(find out -name '.?*')"
            find out -type d -empty -delete # a folder was made for what did not come
            mkdir -p out
            ls out | while read -r file; do # what has its name is whole
                case $kept,$file in
                state,*.state | state,log.jsonl | state,run) ;;
                *) diff -r "out/$file" "ref/$file" >/dev/null || echo "$file" ;;
                esac
            done >partial
            [ ! -s partial ] || wrong "left $(cat partial)"
            [ $kept = state ] || continue
            [ -z "$(ls out)" ] || grep -q -e '--resume\|interrupted$' why || wrong "does not say how to go on"
            ls out/*.state >/dev/null 2>&1 && { grep -q -e --resume why || wrong "a state, but no word of --resume"; }
            (cd out && $line --resume) >said 2>why || wrong "cannot go on"
            diff -r out ref >/dev/null || wrong "ends with other files"
            ;;
        *) wrong "exit $code" ;;
        esac
    done
    # before main there is no handler; a command that never has one always dies
    [ $killed -eq 0 ] || [ $said -gt 0 ] || { echo "$name: SIGINT kills it"; failed=1; }
    seen=$((seen + said))
done <<'END'
train_mlp state bang train --data multicolor --hidden 8 --steps 3000 --batch 20 --log log.jsonl -o mlp.safetensors -q
train_vit state bang train --arch vit --width 16 --depth 2 --heads 1 --data mnist --val mnist:split=test --eval-every 10 --steps 60 --batch 32 --threads 1 --log log.jsonl -o vit.safetensors -q
train_head state bang train --init IN/a.safetensors --only-head --data mnist --steps 4000 --batch 16 --threads 1 -o head.safetensors -q
reproduce state bang reproduce theory two-layer --seeds 1 --models 1 -o run -q
average - bang average IN/large.safetensors IN/large.safetensors -o out.safetensors --method ties --base IN/large.safetensors -q
predict - bang predict --model IN/a.safetensors --model IN/a.safetensors --model IN/a.safetensors --model IN/b.safetensors --data mnist -o logits.npy -q
simulate - bang simulate --example 1-1 --runs 300 --json
data_make - bang data make multicolor -p 0.5 -o set -q
explain - bang explain gradcam --model IN/a.safetensors --data mnist -o maps.png -q
diagnose - bang diagnose --labels IN/y.npy --pre IN/a.npy --fine IN/b.npy --bootstrap 200000 --json
END
# most of them, on any machine
[ $seen -ge $((2 * signals)) ] || { echo "only $seen were interrupted"; failed=1; }
[ $failed -eq 0 ] && echo "all as it should be: $seen were interrupted"
exit $failed
