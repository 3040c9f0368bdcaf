#!/bin/sh
# Runs every libFuzzer target of a build for some seconds, then says what came out:
#     run.sh BUILD SECONDS [TARGET...]
# What a target finds worth keeping stays in BUILD/found/TARGET, inputs that it fails on in
# BUILD/found/TARGET-*, its log in BUILD/found/TARGET.log. A failure does not stop the others;
# the exit status is 1 if there was one.
set -u
build=$1 seconds=$2
shift 2
corpus=$(dirname "$0")/corpus
[ $# -gt 0 ] || for target in "$build"/tests/fuzz_*; do
    [ ! -x "$target" ] || set -- "$@" "${target##*/fuzz_}"
done
mkdir -p "$build/found"
table=$build/found/summary
printf '%-12s %12s %8s %8s %9s %9s\n' target executions seconds edges 'new units' crashes >"$table"
failed=0

# value NAME LOG: of the statistics at the end
value() {
    sed -n "s/^stat::$1: *//p" "$2" | tail -n 1
}

for name in "$@"; do
    found=$build/found/$name log=$build/found/$name.log
    known=$corpus/$name
    [ -d "$known" ] || known=
    mkdir -p "$found"
    echo "== $name"
    before=$(find "$build/found" -maxdepth 1 -name "$name-*" | wc -l)
    # shellcheck disable=SC2086 # a corpus that is not there is no argument
    "$build/tests/fuzz_$name" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=25 \
        -print_final_stats=1 -artifact_prefix="$found-" "$found" $known >"$log" 2>&1
    status=$?
    crashes=$(($(find "$build/found" -maxdepth 1 -name "$name-*" | wc -l) - before))
    [ $status -eq 0 ] || [ $crashes -gt 0 ] || crashes=1
    if [ $crashes -gt 0 ]; then
        failed=1
        grep -E 'ERROR|SUMMARY|Test unit written' "$log"
    fi
    printf '%-12s %12s %8s %8s %9s %9s\n' "$name" "$(value number_of_executed_units "$log")" \
        "$(sed -n 's/^Done .* in \([0-9]*\) second.*/\1/p' "$log")" \
        "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)" \
        "$(value new_units_added "$log")" "$crashes" >>"$table"
done
cat "$table"
exit $failed
