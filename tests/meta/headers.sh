#!/bin/sh
# Every public header compiles alone and twice; bang.h includes all of them.
set -u
cd "${BANG_SOURCE:-$(dirname "$0")/../..}" || exit 1
flags="-std=c17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude $(pkg-config --cflags jansson)"
failed=0

compile() {
    # $flags is a list of words.
    # shellcheck disable=SC2086
    printf '#include "%s"\n#include "%s"\nint main(void) { return 0; }\n' "$1" "$1" |
        ${CC:-gcc} $flags "-I$2" -x c -
}

headers=$(find include/bang -name '*.h' | sed 's|^include/||' | sort)
for header in $headers; do
    compile "$header" include || { echo "$header: does not compile alone"; failed=1; }
done

included=$(sed -n 's/^#include "\(.*\)"$/\1/p' include/bang/bang.h)
if [ "$included" != "$(printf '%s\n' "$headers" | grep -v '^bang/bang.h$')" ]; then
    echo "include/bang/bang.h must include every public header, in the order of names; it has"
    printf '%s\n' "$included"
    failed=1
fi

bad=$(mktemp -d) || exit 1
trap 'rm -rf "$bad"' EXIT
echo 'static size_t needs_stddef;' >"$bad/bad.h"
if compile bad.h "$bad" 2>/dev/null; then
    echo "the check itself is broken: it takes a header that cannot stand alone"
    failed=1
fi
exit $failed
