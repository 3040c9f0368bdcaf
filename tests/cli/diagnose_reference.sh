# Every number of bang diagnose --json against numpy, on data of many kinds.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
cases() { $python "$here/../diagnose_cases.py" "$@"; }
cases check
cases compare
cases random 1 20
cases table
cases invariants
