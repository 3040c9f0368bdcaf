#!/bin/sh
# What no source may hold: files too long to read in one sitting, functions
# that cannot be used safely, a library that prints or exits, unfinished work,
# and paths or addresses that mean something on one machine only. Shows on a
# small bad tree that it would notice.
set -u
cd "${BANG_SOURCE:-$(dirname "$0")/../..}" || exit 1

call() { # call NAMES: an expression for a call of one of them
    printf '(^|[^A-Za-z0-9_])(%s)[[:space:]]*\\(' "$1"
}
unsafe=$(call 'strcpy|strcat|stpcpy|sprintf|vsprintf|atoi|atol|atoll|atof|gets|strtok|alloca|rand|srand')
speaks=$(call 'exit|_exit|abort|printf|vprintf|fprintf|vfprintf|puts|fputs|putchar|putc|perror|setlocale')

# check TREE: prints what is wrong; fails if there is anything.
check() (
    cd "$1" || exit 1
    {
        find . \( -name .git -o -path ./build -o -path ./reproduce \) -prune -o \
            \( -name '*.[ch]' -o -name '*.sh' \) -print | sort | xargs wc -l |
            awk '$2 != "total" && $1 > 800 { print $2 ": " $1 " lines, more than 800" }'
        grep -rnE "$unsafe" --include='*.[ch]' src include tests
        grep -rnE "$speaks" --include='*.[ch]' --exclude-dir=cli src
        grep -rnIE '(^|[^A-Za-z0-9_.])/(work|root|home|farm)/' . \
            --exclude-dir=.git --exclude-dir=build --exclude-dir=reproduce
        grep -rnIwE '[T]ODO|[F]IXME|[X]XX|[H]ACK|not [i]mplemented' . \
            --exclude-dir=.git --exclude-dir=build --exclude-dir=reproduce
        grep -rnIE 'registry[.]npmjs|deb[.]debian[.]org|"[r]esolved"' . \
            --exclude-dir=.git --exclude-dir=build --exclude-dir=reproduce
    } >&3
) 3>&1

found=$(check .)
if [ -n "$found" ]; then
    printf '%s\n' "$found"
    exit 1
fi

bad=$(mktemp -d) || exit 1
trap 'rm -rf "$bad"' EXIT
mkdir -p "$bad/src/base" "$bad/src/cli" "$bad/include" "$bad/tests"
yes | head -n 801 >"$bad/tests/long.c"
echo 'a = sprintf (b, "c");' >"$bad/src/base/unsafe.c"
echo 'if (x) printf("c");' >"$bad/src/base/speaks.c"
echo 'snprintf(a, 1, "b"); bang_exit(1);' >"$bad/src/base/fine.c"
echo 'printf("c");' >"$bad/src/cli/fine.c"
echo 'see /ho''me/me/notes' >"$bad/path.md"
echo 'TO''DO' >"$bad/unfinished.md"
found=$(check "$bad" | sed 's|^\./||; s/:.*//' | sort)
expected='path.md
src/base/speaks.c
src/base/unsafe.c
tests/long.c
unfinished.md'
if [ "$found" != "$expected" ]; then
    printf 'the check itself is broken; in the bad tree it found:\n%s\n' "$found"
    exit 1
fi
