# Every number of bang diagnose --json against numpy, on data of many kinds.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
check() { $python "$here/../diagnose_check.py" "$@"; }
check itself
check compare
check random 1 20
check table
check invariants
