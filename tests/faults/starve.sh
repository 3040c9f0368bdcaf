#!/bin/sh
# Lets one allocation of a command fail, then another, until each place that allocates has:
#     tests/faults/starve.sh CASE
# What it proves: whichever allocation fails, the command says so in a line, ends with exit 1
# and every file is the old one or the whole new one, without a temporary file; or it did without that memory and
# the result is the same as ever. Never a signal, never another exit, never half a result;
# built with sanitizers, never a leak.
# A place is a chain of callers: what a loop asks for again and again fails once. FAULTS_EVERY=1
# takes every allocation instead, FAULTS_EVERY=N every N-th; FAULTS_PLACES=N takes N places at
# most, spread evenly.
# shellcheck disable=SC2015,SC2086,SC2154 # lines are words; shim comes from common.inc
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/common.inc"
[ $# -eq 1 ] || { echo "usage: $0 CASE" >&2; exit 2; }
name=$1

# A case sets go, a line that runs in a folder; before, what makes an old output there; and
# open, a file that a failure may leave unfinished: it grows line by line, and where resume says how
# to go on, the run that does ends like one that was never starved.
before='' open='' resume='' variables=''
case $name in
theory) go='bang theory -K 3 -p 0.9 --model 2,3 --model 2,3 --overlap 1,1 --best --polynomial --json' ;;
theory_text) go='bang theory -K 3 -p 0.9 --model v0-1,s0-2 --model v1-2,s2-4 --sigma 0.1' ;;
theory_figure) go='bang theory --figure example-2 -o figure.svg' ;;
sweep) go='bang theory -p 0.9 --model 2,3 --model 2,3 --sweep alpha=0:1:0.5' ;;
simulate) go='bang simulate --example 1-1 --runs 2 --train 200 --test 200 --json' ;;
simulate_logistic) go='bang simulate --example 2-1 --runs 2 --train 50 --test 50 --fit logistic' ;;
average)
    models
    go='bang average ../in/a.safetensors ../in/b.safetensors -o out.safetensors -q'
    before='bang average ../in/a.safetensors ../in/b.safetensors --alpha 0.1 -o out.safetensors -q'
    ;;
average_shards)
    models
    go='bang average ../in/a.safetensors ../in/b.safetensors --method slerp -o model/ --shard-size 0.002M -q'
    before='bang average ../in/a.safetensors ../in/b.safetensors -o model/ --shard-size 0.004M -q'
    ;;
average_again) # the shards have the names of old ones, and other files come along
    folders
    go='bang average ../in/a ../in/b -o model --shard-size 0.002M -q'
    before='bang average ../in/c ../in/b --alpha 0.1 -o model --shard-size 0.002M -q'
    ;;
average_torch)
    models
    bang convert in/a.safetensors -o in/a.pt -q && bang convert in/b.safetensors -o in/b.npz -q
    go='bang average ../in/a.pt ../in/b.npz -o out.pt --balance norm -q'
    ;;
train_mlp)
    digits
    go='bang train --data multicolor --val multicolor:split=test --hidden 4 --steps 3 --batch 20 --log log.jsonl -o mlp.safetensors -q'
    before='bang train --data multicolor --hidden 4 --steps 2 --batch 20 -o mlp.safetensors -q'
    open=log.jsonl
    ;;
train_vit)
    digits
    go='bang train --arch vit --width 8 --depth 1 --heads 1 --data mnist --val mnist:split=test --eval-every 1 --keep best --steps 2 --batch 8 --log log.jsonl -o vit.safetensors -q'
    before='bang train --arch vit --width 4 --depth 1 --heads 1 --data mnist --steps 1 -o vit.safetensors -q'
    open=log.jsonl
    ;;
train_head)
    models
    go='bang train --init ../in/a.safetensors --only-head --data mnist:split=test --steps 2 --batch 8 -o vit.safetensors -q'
    ;;
predict)
    models
    go='bang predict --model ../in/a.safetensors --model ../in/b.safetensors --data mnist:split=test -o logits.npy --labels labels.npy -q'
    before='bang predict --model ../in/a.safetensors --data mnist:split=test -o logits.npy --labels labels.npy -q'
    ;;
predict_json)
    models
    go='bang predict --model ../in/a.safetensors --data mnist:split=test -o logits.npy --json'
    ;;
data_get)
    digits
    old_digits
    variables=BANG_CACHE=.
    go='bang data get mnist --from ../in/digits --json'
    before='env BANG_CACHE=. bang data get mnist --from ../in/old -q'
    ;;
data_make)
    digits
    go='bang data make multicolor --count 20 -p 0.5 -o set --json'
    before='bang data make multicolor --count 20 -p 0.2 --seed 2 -o set -q'
    ;;
data_shift)
    digits
    go='bang data make shift --kind s --count 5 -o set'
    before='bang data make shift --kind s --count 5 --seed 2 -o set -q'
    ;;
data_list)
    digits
    go='bang data list --json'
    ;;
data_list_text)
    digits
    go='bang data list'
    ;;
data_preview)
    digits
    go='bang data preview mnist -o sheet.png -q'
    ;;
inspect)
    models
    go='bang inspect ../in/a.safetensors --json'
    ;;
inspect_text)
    models
    go='bang inspect ../in/a.safetensors'
    ;;
diff)
    models
    go='bang diff ../in/a.safetensors ../in/b.safetensors --json'
    ;;
diff_text)
    models
    go='bang diff ../in/a.safetensors ../in/b.safetensors'
    ;;
convert)
    models
    go='bang convert ../in/a.safetensors -o a.npz --dtype f16 -q'
    ;;
diagnose)
    logits
    go='bang diagnose --labels ../in/y.npy --pre ../in/a.npy --fine ../in/b.npy --avg ../in/c.npy --json'
    ;;
diagnose_text)
    logits
    go='bang diagnose --labels ../in/y.npy --pre ../in/a.npy --fine ../in/b.npy'
    ;;
diagnose_page)
    logits
    go='bang diagnose --labels ../in/y.npy --pre ../in/a.npy --fine ../in/b.npy --avg ../in/c.npy --html page.html -q'
    ;;
explain)
    models
    go='bang explain gradcam --model ../in/a.safetensors --data mnist:split=test -o maps.png -q'
    ;;
explain_occlusion)
    digits
    bang train --data multicolor --hidden 4 --steps 3 -o in/mlp.safetensors -q
    go='bang explain occlusion --model ../in/mlp.safetensors --data multicolor:split=test -o map.csv --json'
    ;;
reproduce)
    go='bang reproduce theory -o run -q'
    open=run/results.jsonl
    resume='--resume'
    ;;
report)
    bang reproduce theory -o in/run -q
    go='bang report ../in/run -o report.html'
    before='cp ../in/run/results.jsonl report.html'
    ;;
*)
    echo "$0: $name: no such case" >&2
    exit 2
    ;;
esac
case " $go " in *' data '* | *' inspect '* | *' report '*) ;; *) go="$go --threads 1" ;; esac

# ASan must not mind that the shim comes first, and tells leaks from everything else.
ASAN_OPTIONS=verify_asan_link_order=0:exitcode=66:allocator_may_return_null=1
UBSAN_OPTIONS=print_stacktrace=1
# What the dynamic linker keeps of a library is no leak: it cannot tell through the shim.
printf 'leak:ld-linux\nleak:dl_open\n' >suppressions
LSAN_OPTIONS=suppressions=$work/suppressions:print_suppressions=0
export ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS
run() { (cd out && "$strike" 9 60000000 env $variables "$@" LD_PRELOAD="$shim" $go >../said 2>../why); }

wrong() {
    echo "$name: allocation $n: $*"
    sed 's/^/    /' why | head -n "${FAULTS_LINES:-12}"
    problems=$((problems + 1))
}

# What is there are the first lines of all, each whole; and it can be gone on with.
go_on() {
    if [ -e "out/$open" ]; then
        head -n "$(grep -c '' "out/$open")" "ref/$open" | cmp -s - "out/$open" ||
            wrong "$open holds something else than whole records"
    fi
    (cd out && $go $resume >/dev/null 2>../why) || wrong "cannot be gone on with"
    diff -r out ref >/dev/null || wrong "ends unlike a run that was not starved"
}

mkdir old
if [ -n "$before" ]; then
    (cd old && $before >/dev/null) || exit 1
fi
cp -a old out && n=0 problems=0
run FAULT_SITES="$work/sites" || { cat why; exit 1; }
mv out ref && mv said expected
cp -a old out && run FAULT_SITES="$work/sites" && cmp -s said expected ||
    { echo "$name: two whole runs differ"; exit 1; }
[ -z "${FAULTS_EVERY:-}" ] || seq 1 "$FAULTS_EVERY" "$(tail -n 1 sites)" >some
[ -n "${FAULTS_EVERY:-}" ] ||
    awk -v all="$(grep -c . sites)" -v most="${FAULTS_PLACES:-1000000}" \
        'BEGIN { step = int((all + most - 1) / most) } NR % step == 0' sites >some
while read -r n; do
    rm -rf out && cp -a old out
    run FAULT_ALLOC="$n"
    code=$?
    hidden=$(find out -name '.?*')
    case $code in
    0)
        cmp -s said expected || wrong "exit 0, but it says something else"
        diff -r out ref >/dev/null || wrong "exit 0, but other files"
        ;;
    1)
        grep -q '^bang[ a-z-]*: .' why || wrong "exit 1 without a word"
        [ -z "$hidden" ] || wrong "left $hidden"
        (cd out && find . -type f) >files
        (cd old && find . -type f) >>files
        while read -r file; do # one that is new was made before what failed
            [ "$file" = "./${open:-.none}" ] || cmp -s "out/$file" "old/$file" ||
                cmp -s "out/$file" "ref/$file" || wrong "$file is neither old nor new"
        done <files
        [ -z "$resume" ] || go_on
        ;;
    *) # a sanitizer allocates for itself when a thread begins, and cannot do without
        grep -q 'Sanitizer: CHECK failed' why || wrong "exit $code"
        ;;
    esac
    [ $problems -lt "${FAULTS_MOST:-5}" ] || break
done <some
[ $problems -eq 0 ] || exit 1
[ -s some ] || { echo "$name: no allocation failed: is $shim loaded?"; exit 1; }
echo "$name: $(grep -c . some) allocations failed, of $(tail -n 1 sites)"
