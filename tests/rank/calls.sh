#!/bin/sh
# What base/rank.h promises, with 1, 2 and 4 ranks: sums, gathers, messages; and how the others
# end when one fails, is stopped, or is killed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
calls=$BANG_BUILD/tests/rank_calls
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
failed=0

fail() {
    echo "$*"
    cat "$out"
    failed=1
}

for count in 1 2 4; do
    timeout 120 "$here/mpirun" "$count" "$calls" sums gather mail overlap >"$out" 2>&1 ||
        fail "$count ranks: exit $?"
done

# CASE, how many ranks, the status of mpirun, what one of them says
ends() {
    timeout 60 "$here/mpirun" "$2" "$calls" "$1" >"$out" 2>&1
    code=$?
    [ "$code" -eq "$3" ] || fail "$1, $2 ranks: exit $code, not $3"
    said=$(grep '^calls: ' "$out")
    case $said in
    "calls: $4"*) ;;
    *) fail "$1, $2 ranks: said \"$said\", not \"$4\"" ;;
    esac
}
for count in 2 4; do
    last=$((count - 1))
    ends failure $count 1 "rank $last: the milk is sour (0 of $count says so)"
    ends cancel $count 130 "rank $last: stopped on request (0 of $count says so)"
done
ends killed 4 137 'rank 3 has ended in the middle of the work: '
ends killed-0 4 137 'rank 0 has ended in the middle of the work: '
ends killed-0 2 137 'rank 0 has ended in the middle of the work: '
ends killed-busy 2 137 'rank 1 has ended in the middle of the work: '
# nobody waits for anybody, and the launcher has time
BANG_MPIRUN_GRACE=10
export BANG_MPIRUN_GRACE
ends watched 2 137 'rank 1 has ended in the middle of the work: '
ends watched-0 2 137 'rank 0 has ended in the middle of the work: '
exit $failed
