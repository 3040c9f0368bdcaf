#!/bin/sh
# cppcheck over the library and the command: no findings but those that cppcheck.txt beside this
# gives a reason for. What has not changed is not looked at again.
set -u
cd "${BANG_SOURCE:-$(dirname "$0")/../..}" || exit 1
command -v cppcheck >/dev/null || { echo "cppcheck is not installed"; exit 77; }
cache=${BANG_BUILD:-build}/cppcheck
mkdir -p "$cache"

# look WHERE...
look() {
    cppcheck -j "$(getconf _NPROCESSORS_ONLN)" --quiet --error-exitcode=1 --std=c11 --library=gnu \
        --enable=warning,performance,portability --inline-suppr --max-configs=4 \
        --suppressions-list=tests/meta/cppcheck.txt --include=tests/meta/cppcheck.h \
        -D_GNU_SOURCE -DBANG_VERSION='""' -Iinclude -Isrc "$@"
}
look --cppcheck-build-dir="$cache" src || exit 1

# The check itself: it finds what is wrong here.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
printf 'int f(void);\nint f(void)\n{\n    int a[2] = {0};\n    return a[2];\n}\n' >"$work/bad.c"
if look "$work/bad.c" >/dev/null 2>&1; then
    echo 'the check itself is broken: it does not notice an index beyond an array'
    exit 1
fi
