#!/bin/sh
# Ranks that train and predict together do what each does alone.
set -u
here=$(cd "$(dirname "$0")" && pwd)
program=${BANG_BUILD:-$here/../../build}/tests/rank_training
"$program" || exit 1
for count in 2 4; do
    "$here/mpirun" "$count" "$program" || exit 1
done
