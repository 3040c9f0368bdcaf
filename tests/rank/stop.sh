#!/bin/sh
# Ranks that are told to stop while rank 0 takes long to save: the others wait for it, and the
# launcher, which ends all when one has ended, has nothing to end before the state is there.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$BANG_BUILD" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
PATH=$build:$PATH
export PATH
failed=0

fail() {
    echo "$*"
    cat err
    ls -lA
    failed=1
}

# shellcheck source=/dev/null
. "$here/../cli/digits.inc"
set -- bang train --data mnist --hidden 8 --steps 1000000 --batch 10 --threads 1 --log log.jsonl \
    --log-every 1 -o out.safetensors -q
# Every rank says which process it is; $$ is for it to see. A state is synced twice: the file, and
# the folder. A sanitizer is told that the shim may come before it.
# shellcheck disable=SC2016
timeout 250 "$here/mpirun" 2 sh -c 'echo $$ >process-$OMPI_COMM_WORLD_RANK
[ "$OMPI_COMM_WORLD_RANK" = 1 ] ||
    exec env FAULT_SLOW=4000 LD_PRELOAD="$0" ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" "$@"
exec "$@"' "$build/tests/libshim.so" "$@" 2>err &
launcher=$!
until [ -s log.jsonl ] || ! kill -0 $launcher 2>/dev/null; do sleep .02; done
kill -0 $launcher 2>/dev/null && kill -s TERM "$(cat process-0)" "$(cat process-1)"
wait $launcher && fail "the launcher is content"
grep -q '^bang train: interrupted: step [0-9]* of 1000000 is saved: go on with the same command and --resume$' err ||
    fail "not said that the state is saved"
[ -s out.safetensors.state ] || fail "no state"
[ -z "$(find . -name '.*.bang-*')" ] || fail "something is left over"
exit $failed
