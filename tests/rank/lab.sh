#!/bin/sh
# The lab by 1, 2 and 4 ranks: the same records, and the same models, which each rank writes for
# the seeds that it has; a run that lost its records takes up the models that other ranks made.
set -u
here=$(cd "$(dirname "$0")" && pwd)
lab=$BANG_BUILD/tests/rank_lab
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

fail() {
    echo "$*"
    failed=1
}

"$lab" one || fail "alone: exit $?"
[ "$(grep -c '"lab/seed-' one/results.jsonl)" -eq 3 ] || fail "alone: not three seeds"
for count in 2 4; do
    timeout 250 "$here/mpirun" $count "$lab" many-$count || fail "$count ranks: exit $?"
    diff -r one many-$count || fail "$count ranks: other files"
done
# half of a model, and the records of one seed
head -n 1 one/results.jsonl >many-2/results.jsonl
model=many-2/models/seed-2/pre.safetensors
head -c 1000 $model >half && mv half $model
touch -d 2001-01-01 many-2/models/seed-3/pre.safetensors
timeout 250 "$here/mpirun" 3 "$lab" many-2 resume || fail "resumed: exit $?"
diff -r one many-2 || fail "resumed: other files"
[ -z "$(find many-2/models/seed-3/pre.safetensors -newer one/results.jsonl)" ] ||
    fail "resumed: trained again"
exit $failed
