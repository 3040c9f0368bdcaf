#!/bin/sh
# Runs every libFuzzer target of a build for some seconds, then says what came out:
#     [FUZZ_JOBS=N] run.sh BUILD SECONDS [TARGET...]
# N targets run at once, one per core unless said otherwise. What a target finds worth keeping stays
# in BUILD/found/TARGET, inputs that it fails on in BUILD/found/TARGET-*, its log in
# BUILD/found/TARGET.log. A failure does not stop the others; the exit status is 1 if there was one.
set -u
build=$1 seconds=$2
shift 2
corpus=$(dirname "$0")/corpus
format='%-12s %12s %8s %12s %8s %9s %9s\n'

# value NAME LOG: of the statistics at the end
value() {
    sed -n "s/^stat::$1: *//p" "$2" | tail -n 1
}

# Seconds of processor time from what `times` prints: a line of the shell's own, one of its children.
core_seconds() {
    sed -n 's/^\([0-9]*\)m\([0-9.]*\)s \([0-9]*\)m\([0-9.]*\)s$/\1 \2 \3 \4/p' "$1" | tail -n 1 |
        awk '{ printf "%.0f\n", 60 * ($1 + $3) + $2 + $4 }'
}

# One target, in a process of its own: its line of the table goes to BUILD/found/TARGET.row.
if [ -n "${FUZZ_ONE:-}" ]; then
    name=$1
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
    times >>"$log"
    crashes=$(($(find "$build/found" -maxdepth 1 -name "$name-*" | wc -l) - before))
    [ $status -eq 0 ] || [ $crashes -gt 0 ] || crashes=1
    [ $crashes -eq 0 ] || grep -E 'ERROR|SUMMARY|Test unit written' "$log"
    # shellcheck disable=SC2059 # the format is above
    printf "$format" "$name" "$(value number_of_executed_units "$log")" \
        "$(sed -n 's/^Done .* in \([0-9]*\) second.*/\1/p' "$log")" "$(core_seconds "$log")" \
        "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)" \
        "$(value new_units_added "$log")" "$crashes" >"$build/found/$name.row"
    exit $((crashes > 0))
fi

[ $# -gt 0 ] || for target in "$build"/tests/fuzz_*; do
    [ ! -x "$target" ] || set -- "$@" "${target##*/fuzz_}"
done
mkdir -p "$build/found"
printf '%s\n' "$@" |
    FUZZ_ONE=1 xargs -P "${FUZZ_JOBS:-$(nproc)}" -n 1 "$0" "$build" "$seconds"
failed=$?
# shellcheck disable=SC2059
printf "$format" target executions seconds 'core seconds' edges 'new units' crashes \
    >"$build/found/summary"
for name in "$@"; do
    cat "$build/found/$name.row"
done >>"$build/found/summary"
cat "$build/found/summary"
exit $((failed > 0))
