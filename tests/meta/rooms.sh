#!/bin/sh
# Holds every #include line of src/ and include/ against rooms.txt, then shows
# on a small bad tree that it would notice.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "${BANG_SOURCE:-$here/../..}" || exit 1

# check TREE: prints each violation; fails if there is one.
check() {
    find "$1/src" "$1/include" -name '*.[ch]' | sort |
        xargs grep -nE '^[[:space:]]*#[[:space:]]*include' /dev/null |
        awk -v root="$1/" -v table="$here/rooms.txt" '
        BEGIN {
            while ((getline line < table) > 0) {
                if (line ~ /^#/ || line !~ /:/) continue
                name = line; sub(/:.*/, "", name)
                rest = line; sub(/^[^:]*:/, "", rest)
                if (name ~ /^set /) { sub(/^set /, "", name); sets[name] = sets[name] " " rest; continue }
                split(rest, half, "|")
                known[name] = 1
                n = split(half[1], words, " ")
                for (i = 1; i <= n; i++) room_ok[name, words[i]] = 1
                n = split(half[2], words, " ")
                for (i = 1; i <= n; i++) external_ok[name, words[i]] = 1
            }
            for (name in known) for (set in sets) if ((name, set) in external_ok) {
                n = split(sets[set], words, " ")
                for (i = 1; i <= n; i++) external_ok[name, words[i]] = 1
            }
        }
        function bad(why) { print place ": " why; failed = 1 }
        {
            place = $0; sub(/:[[:space:]]*#.*/, "", place)
            place = substr(place, length(root) + 1)
            file = place; sub(/:.*/, "", file)
            header = $0; sub(/.*include[[:space:]]*[<"]/, "", header); sub(/[>"].*/, "", header)
            quoted = $0 ~ /include[[:space:]]*"/
            public = file ~ /^include\//
            room = file; sub(/^(src|include\/bang)\//, "", room)
            if (room ~ /\//) sub(/\/.*/, "", room); else room = "bang"
            if (!(room in known)) { bad("room " room " is not in rooms.txt"); next }
            if (header ~ /^bang\//) {
                to = header; sub(/^bang\//, "", to); sub(/\/.*/, "", to)
                if (to == "bang.h") to = "everything"
                if (!((room, to) in room_ok)) bad("room " room " must not include " header)
            } else if (quoted) {
                to = header ~ /\// ? header : room "/"
                sub(/\/.*/, "", to)
                if (to != room) bad("room " room " must not include the private " header)
                else if (public) bad("a public header must not include the private " header)
            } else if (!((room, header) in external_ok))
                bad("room " room " must not include <" header ">")
        }
        END { exit failed }'
}

check . || exit 1

bad=$(mktemp -d) || exit 1
trap 'rm -rf "$bad"' EXIT
mkdir -p "$bad/src/base" "$bad/src/theory" "$bad/src/cli" "$bad/src/attic" "$bad/include/bang/base"
echo '#include "bang/theory/theory.h"' >"$bad/src/base/upwards.c"
echo '#include <jansson.h>' >"$bad/src/theory/external.c"
echo '#include "base/os.h"' >"$bad/src/theory/private.c"
echo '  #  include "theory/exact.h"' >"$bad/src/cli/private.c"
echo '#include "base/os.h"' >"$bad/include/bang/base/leak.h"
echo '#include <math.h>' >"$bad/src/attic/unknown.c"
printf '#include <math.h>\n#include "bang/base/text.h"\n#include "sets.h"\n' >"$bad/src/theory/good.c"
found=$(check "$bad" | cut -d: -f1)
expected='include/bang/base/leak.h
src/attic/unknown.c
src/base/upwards.c
src/cli/private.c
src/theory/external.c
src/theory/private.c'
if [ "$(printf '%s\n' "$found" | sort)" != "$expected" ]; then
    printf 'the check itself is broken; in the bad tree it found:\n%s\n' "$found"
    exit 1
fi
