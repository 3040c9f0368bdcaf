#!/bin/sh
# `bang --help` lists exactly the commands that there are, and each of them
# says how it is used, with an example.
set -u
cd "${BANG_SOURCE:-$(dirname "$0")/../..}" || exit 1
bang=${BANG_BUILD:-build}/bang
failed=0
fail() {
    echo "$*"
    failed=1
}

help=$("$bang" --help </dev/null) || fail "bang --help fails"
listed=$(printf '%s\n' "$help" |
    awk '/^[^ ].*:$/ { on = tolower($0) ~ /^commands/ } on && /^  [a-z]/ { print $1 }' | sort)
written=$(find src/cli -name 'cmd_*.c' | sed 's|.*/cmd_||; s|[.]c$||; s|_|-|g' | sort)
[ -n "$listed" ] || fail "bang --help has no list of commands under a line \"Commands:\""
[ "$listed" = "$written" ] || fail "bang --help lists
$listed
but src/cli has
$written"
for name in $listed; do
    text=$("$bang" "$name" --help </dev/null) || fail "bang $name --help fails"
    case $text in
    *"Usage: bang $name"*) ;;
    *) fail "bang $name --help does not say \"Usage: bang $name\"" ;;
    esac
    case $text in
    *Example*) ;;
    *) fail "bang $name --help has no example" ;;
    esac
done
exit $failed
