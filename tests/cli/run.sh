#!/bin/sh
# Runs cases of the command line and compares all they print with what is
# expected, byte for byte:
#     tests/cli/run.sh NAME...            NAME.sh against NAME.expected
#     tests/cli/run.sh --update NAME...   writes NAME.expected
# A case is a list of commands for sh, run in a fresh folder with the built
# `bang` first on PATH and with two helpers:
#     run ARGUMENT...   prints `$ bang ARGUMENT...`, what it prints, and
#                       `exit N` when that is not 0
#     show FILE...      prints the content of files under their names
# A case that cannot run here ends with exit 77.
# What several cases begin with is in a NAME.inc: . "$here/NAME.inc"
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${BANG_BUILD:-$here/../../build}" && pwd) || exit 1
PATH=$build:$PATH
export PATH

update=0
if [ "${1:-}" = --update ]; then
    update=1
    shift
fi
[ $# -gt 0 ] || { echo "usage: $0 [--update] NAME..." >&2; exit 2; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# The cases call these two.
# shellcheck disable=SC2317
run() {
    printf '$ bang'
    for argument; do
        case $argument in
        '' | *[!A-Za-z0-9_./,:=%+@^-]*) printf " '%s'" "$argument" ;;
        *) printf ' %s' "$argument" ;;
        esac
    done
    printf '\n'
    bang "$@" </dev/null
    code=$?
    [ "$code" -eq 0 ] || echo "exit $code"
}

# shellcheck disable=SC2317
show() {
    for file; do
        printf '%s\n' "-- $file"
        cat "$file"
    done
}

failed=0
for name; do
    mkdir "$work/$name" || exit 1
    (
        cd "$work/$name" || exit 1
        set +eu
        # shellcheck source=/dev/null
        . "$here/$name.sh"
    ) >"$work/$name.actual" 2>&1
    [ $? -ne 77 ] || { cat "$work/$name.actual"; exit 77; }
    if [ $update -eq 1 ]; then
        cp "$work/$name.actual" "$here/$name.expected"
    elif ! diff -u --label "$name.expected" --label actual "$here/$name.expected" "$work/$name.actual"; then
        failed=1
    fi
done
exit $failed
