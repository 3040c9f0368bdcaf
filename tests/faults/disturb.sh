#!/bin/sh
# What surrounds a command fails: the disk is full, the folder cannot be written, an input
# cannot be read or shrinks while it is read, calls are interrupted by signals.
#     tests/faults/disturb.sh disk|calls
# disk: a small file system is full, or read-only. calls: everything else.
# What it proves: the command says what failed and ends with exit 1, the old output is as it
# was, and no temporary file is left; calls that were only interrupted change nothing.
# Who may not mount, not even in a name space of its own, skips the disk: exit 77.
# shellcheck disable=SC2086,SC2154 # lines are words; shim and strike come from common.inc
set -u
here=$(cd "$(dirname "$0")" && pwd)
part=${1:-}
case $part in disk | calls) ;; *)
    echo "usage: $0 disk|calls" >&2
    exit 2
    ;;
esac
if [ "$part" = disk ] && [ -z "${FAULTS_APART:-}" ]; then # what is mounted goes with the name space
    for apart in 'unshare -m' 'unshare -rm'; do
        if $apart mount -t tmpfs none /mnt 2>/dev/null; then
            FAULTS_APART=1 exec $apart sh "$0" disk
        fi
    done
    echo "may not mount: no full and no read-only disk"
    exit 77
fi
# shellcheck source=/dev/null
. "$here/common.inc"
ASAN_OPTIONS=verify_asan_link_order=0:exitcode=66
export ASAN_OPTIONS
failed=0
wrong() {
    echo "$*"
    sed 's/^/    /' why
    failed=1
}
models
bang reproduce theory -o in/run -q || exit 1
bang data make multicolor --count 60 -p 0.5 -o in/set -q || exit 1

in_full() { echo "$1" | sed "s:IN/:$work/in/:g"; }

# NAME LINE: what writes, each with something old in its place.
cat >lines <<'END'
average bang average IN/a.safetensors IN/b.safetensors -o out.safetensors -q
shards bang average IN/a.safetensors IN/b.safetensors -o model/ --shard-size 0.002M -q
torch bang convert IN/a.safetensors -o out.pt -q
train_mlp bang train --data IN/set --hidden 4 --steps 3 --state-minutes 0 -o out.safetensors -q
train_vit bang train --arch vit --width 8 --depth 1 --heads 1 --data mnist --steps 3 --state-minutes 0 -o out.safetensors -q
predict bang predict --model IN/a.safetensors --data mnist -o logits.npy --labels labels.npy -q
data_make bang data make multicolor --count 60 -p 0.5 -o set -q
reproduce bang reproduce theory -o run -q --resume
report bang report IN/run -o report.html
explain bang explain gradcam --model IN/a.safetensors --data mnist:split=test -o maps.png -q
END

# In a folder with an old output: the line must fail, say why, and leave it.
# NAME WHERE EXPECTED-WORDS LINE...
refuse() {
    what=$1 where=$2 words=$3
    shift 3
    (cd "$where" && "$strike" 9 60000000 "$@") >said 2>why
    code=$?
    [ $code -eq 1 ] || wrong "$what: exit $code"
    grep -q '^bang[ a-z-]*: .' why || wrong "$what: not a word"
    grep -q "$words" why || wrong "$what: does not say: $words"
    hidden=$(cd "$where" && find . -name '.?*')
    [ -z "$hidden" ] || wrong "$what: left $hidden"
}
as_before() { # NAME WHERE
    (cd "old/$1" && find . -type f) | while read -r file; do cmp -s "old/$1/$file" "$2/$file" || echo "$file"; done >changed
    [ ! -s changed ] || wrong "$1: changed $(tr '\n' ' ' <changed)"
}

mkdir old
while read -r name line; do
    line=$(in_full "$line")
    mkdir "old/$name"
    (cd "old/$name" && $line >../../said 2>../../why) || wrong "$name"
done <lines
[ $failed -eq 0 ] || exit 1

if [ "$part" = disk ]; then
    mkdir small && mount -t tmpfs -o size=4M none small || exit 1
    trap 'cd /; umount "$work/small"; rm -rf "$work"' EXIT
    # A disk with the old output on it and a page of room: each line needs more.
    while read -r name line; do
        line=$(in_full "$line")
        cp -a "old/$name/." small/
        [ "$name" = reproduce ] && rm -rf small/run && mkdir small/run
        free=$(df -Pk small | awk 'NR == 2 { print $4 }')
        head -c $(((free - 4) * 1024)) /dev/zero >small/filler
        refuse "$name on a full disk" small 'No space left on device\|are free' $line
        [ "$name" = reproduce ] || as_before "$name" small
        find small -mindepth 1 -delete
    done <lines
    # Room for the output, not for its state as well: told before the first step. Room that goes
    # in the middle: the state is missed, the work is not.
    set -- bang train --data "$work/in/set" --hidden 8 --state-minutes 0 --no-reduction -o out.safetensors
    room() { # KILOBYTES
        rm -f small/filler
        free=$(df -Pk small | awk 'NR == 2 { print $4 }')
        head -c $(((free - $1) * 1024)) /dev/zero >small/filler
    }
    (cd old && "$@" --steps 3 -q) || wrong "training"
    room 600 # the output has 166 KB, a state 994
    refuse "training with room for the output alone" small 'state: [0-9]* bytes are needed, [0-9]* are free' "$@" --steps 3 -q
    [ "$(ls small)" = filler ] || wrong "training with room for the output alone: left something"
    room 1600
    # the second state finds no room beside the first
    (cd small && "$@" --steps 3 -q) >said 2>why || wrong "states without room: exit $?"
    grep -q '^bang train: warning: the state is not saved: out.safetensors.state: No space left on device: it is as it was before: goes on' why ||
        wrong "states without room: nobody says so"
    cmp -s old/out.safetensors small/out.safetensors || wrong "states without room: another output"
    [ "$(ls -A small)" = 'filler
out.safetensors' ] || wrong "states without room: left something"
    rm -f old/out.safetensors
    find small -mindepth 1 -delete
    # Nothing may be written at all.
    while read -r name line; do
        line=$(in_full "$line")
        cp -a "old/$name/." small/
        mount -o remount,bind,ro small
        refuse "$name on a read-only disk" small 'Read-only file system' $line
        as_before "$name" small
        mount -o remount,bind,rw small
        find small -mindepth 1 -delete
    done <lines
    [ $failed -eq 0 ] && echo "all as it should be"
    exit $failed
fi

# A limit on the size of a file, everywhere.
while read -r name line; do
    line=$(in_full "$line")
    rm -rf out && cp -a "old/$name" out
    case $name in reproduce) rm -rf out/run && mkdir out/run ;; esac
    printf 'ulimit -f 1; exec "$@"\n' >limit
    refuse "$name with a limit" out 'File too large' sh "$work/limit" $line
    [ "$name" = reproduce ] || as_before "$name" out
done <lines

# Inputs that cannot be read: a folder in the place of a file; and, where root is not above it,
# a file without rights.
mkdir in/folder.safetensors in/folder.npy
while read -r name words line; do
    line=$(in_full "$line")
    rm -rf out && mkdir out
    refuse "$name" out "$words" $line
    [ -z "$(ls -A out)" ] || wrong "$name: left something"
done <<'END'
a_folder folder bang average IN/a.safetensors IN/folder.safetensors -o out.safetensors -q
a_model folder.safetensors bang predict --model IN/folder.safetensors --data mnist -o logits.npy -q
logits folder.npy bang diagnose --labels IN/folder.npy --pre IN/folder.npy --fine IN/folder.npy
END
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    chmod 0711 "$work" "$work/in"
    chmod 0600 in/a.safetensors
    mkdir -m 0777 open
    (
        cd open && setpriv --reuid 65534 --regid 65534 --clear-groups \
            bang average "$work/in/a.safetensors" "$work/in/b.safetensors" -o out.safetensors
    ) >said 2>why
    code=$?
    # where nobody may run the command, or reach the folder, nothing is learned
    if [ $code -ne 126 ] && [ $code -ne 127 ]; then
        [ $code -eq 1 ] || wrong "unreadable: exit $code"
        grep -q 'a.safetensors: Permission denied' why || wrong "unreadable: does not say so"
    fi
fi

# Inputs that shrink, before they are read for the first time, the second, ...
bang convert in/a.safetensors -o in/a.pt -q
bang convert in/a.safetensors -o in/a.npz -q
bang predict --model in/a.safetensors --data mnist -o in/logits.npy --labels in/labels.npy -q
while read -r name file line; do
    line=$(in_full "$line")
    for after in 1 2 3 4; do
        cp "in/$file" "in/kept" && rm -rf out && mkdir out
        (cd out && "$strike" 9 60000000 env FAULT_SHRINK="$work/in/$file" FAULT_AFTER=$after \
            LD_PRELOAD="$shim" $line) >said 2>why
        code=$?
        case $code in
        0) ;; # all was read before
        1)
            grep -q '^bang[ a-z-]*: .' why || wrong "$name, read $after: not a word"
            [ -z "$(ls -A out)" ] || wrong "$name, read $after: left something"
            ;;
        *) wrong "$name, read $after: exit $code" ;;
        esac
        [ $after -gt 1 ] || [ $code -eq 1 ] || wrong "$name: exit $code although the file shrank"
        mv in/kept "in/$file"
    done
done <<'END'
safetensors b.safetensors bang average IN/a.safetensors IN/b.safetensors -o out.safetensors -q
torch a.pt bang average IN/a.pt IN/b.safetensors -o out.safetensors -q
npz a.npz bang average IN/a.npz IN/b.safetensors -o out.safetensors -q
model b.safetensors bang predict --model IN/b.safetensors --data mnist -o logits.npy -q
logits logits.npy bang diagnose --labels IN/labels.npy --pre IN/logits.npy --fine IN/logits.npy
images cache/mnist/train-images-idx3-ubyte bang train --data mnist --steps 1 -o out.safetensors -q
END

# Interrupted calls, and calls that do half: the same bytes as ever.
for how in FAULT_EINTR=2 FAULT_EINTR=3 FAULT_EINTR=7 FAULT_STORM=500; do
    while read -r name line; do
        line=$(in_full "$line")
        rm -rf out && mkdir out
        (cd out && "$strike" 9 60000000 env $how LD_PRELOAD="$shim" \
            $line) >said 2>why
        code=$?
        [ $code -eq 0 ] || wrong "$name, $how: exit $code"
        diff -r out "old/$name" >>why || wrong "$name, $how: other files"
    done <lines
done
[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
