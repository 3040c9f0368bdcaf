#!/bin/sh
# clang-tidy over every source of the library and the command, each again only
# after it, a header or the settings have changed.
set -u
cd "${BANG_SOURCE:-$(dirname "$0")/../..}" || exit 1
command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed"; exit 77; }
BANG_BUILD=${BANG_BUILD:-build}
export BANG_BUILD
mkdir -p "$BANG_BUILD/tidy"

changed=
for file in src/*/*.c; do
    stamp=$BANG_BUILD/tidy/$(printf '%s' "$file" | tr / _)
    [ -f "$stamp" ] && [ -z "$(find "$file" include src tests/meta .clang-tidy \
        \( -path "$file" -o -name '*.h' -o -name .clang-tidy \) -newer "$stamp")" ] ||
        changed="$changed $file"
done

# analyzer.h cannot go before the definitions of what it changes. What
# clang-tidy says on stderr does not matter when all is well.
# shellcheck disable=SC2016,SC2086
printf '%s\n' $changed | xargs -r -P "$(getconf _NPROCESSORS_ONLN)" -n 1 sh -c '
    stamp=$BANG_BUILD/tidy/$(printf "%s" "$1" | tr / _)
    rm -f "$stamp"
    touch "$stamp.new" # the time before the look
    first=$PWD/tests/meta/analyzer.h
    [ "$1" != src/base/error.c ] || first=$PWD/include/bang/base/error.h
    text=$(clang-tidy --quiet -p "$BANG_BUILD" --extra-arg="-include$first" "$1" 2>&1) ||
        { printf "%s\n" "$text"; exit 1; }
    mv "$stamp.new" "$stamp"' tidy
