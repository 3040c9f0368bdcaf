#!/bin/sh
# What the documents show is what happens. In every ```console block of
# README.md and docs/*.md a line `$ COMMAND` is run and the lines below it must
# be its output; a line `...` stands for any lines. A block ```console skip is
# not run. A document has one fresh folder for all its commands; tests/make_samples.sh
# puts into it what they take for granted.
#     readme.sh [FILE.md ...]
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "${BANG_SOURCE:-$here/../..}" && pwd)
build=$(cd "${BANG_BUILD:-$source/build}" && pwd)
PATH=$build:$PATH
export PATH
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Writes N.command, N.expected and N.line into a folder for each command.
split() {
    awk -v to="$2/" '
        function close_all() { if (n) { close(to n ".command"); close(to n ".expected") } }
        /^```/ {
            fence = !fence
            inside = fence && $0 ~ /^```console[[:space:]]*$/
            open = more = 0
            next
        }
        !inside { next }
        more { print >> (to n ".command"); more = /\\$/; next }
        /^\$ / {
            close_all(); n++; open = 1
            line = $0; sub(/^\$ /, "", line)
            print line > (to n ".command")
            printf "" > (to n ".expected")
            print FNR > (to n ".line"); close(to n ".line")
            more = /\\$/; next
        }
        open { print > (to n ".expected") }' "$1"
}

# matches EXPECTED ACTUAL: line by line, with `...` for any number of lines.
matches() {
    awk '
        NR == FNR { want[++m] = $0; next }
        { got[++n] = $0 }
        END {
            i = j = 1; star = 0
            while (j <= n) {
                if (i <= m && want[i] == "...") { star = i++; mark = j }
                else if (i <= m && want[i] == got[j]) { i++; j++ }
                else if (star) { i = star + 1; j = ++mark }
                else exit 1
            }
            while (i <= m && want[i] == "...") i++
            exit i <= m
        }' "$1" "$2"
}

# run FILE.md: prints each difference; fails if there is one.
run() {
    failed=0
    steps=$(mktemp -d "$work/steps.XXXXXX")
    folder=$(mktemp -d "$work/folder.XXXXXX")
    split "$1" "$steps"
    "$here/../make_samples.sh" "$folder" || { echo "no sample files"; return 1; }
    n=1
    while [ -f "$steps/$n.command" ]; do
        (cd "$folder" && sh "$steps/$n.command" </dev/null >"$steps/$n.actual" 2>&1)
        # awk cannot tell an empty first file from a second one.
        echo end >>"$steps/$n.expected"
        echo end >>"$steps/$n.actual"
        if ! matches "$steps/$n.expected" "$steps/$n.actual"; then
            echo "$1:$(cat "$steps/$n.line"): $(cat "$steps/$n.command")"
            diff -u --label document --label output "$steps/$n.expected" "$steps/$n.actual"
            failed=1
        fi
        n=$((n + 1))
    done
    return $failed
}

if [ $# -eq 0 ]; then
    cd "$source" || exit 1
    set -- README.md docs/*.md
fi
result=0
for document in "$@"; do
    [ ! -f "$document" ] || run "$document" || result=1
done

# Shows on two small documents that a difference is noticed, and only that.
# shellcheck disable=SC1003,SC2016
printf '%s\n' 'Text.' '```console' '$ echo a; \' 'echo b' 'a' 'b' '$ printf "1\n2\n3\n4\n"' \
    '1' '...' '4' '$ echo x >file' '```' '```sh' '$ false' 'never' '```' '```console skip' \
    '$ echo skipped' 'else' '```' '```console' '$ cat file none 2>/dev/null' 'x' '```' >"$work/good.md"
# shellcheck disable=SC2016
printf '%s\n' '```console' '$ echo a' 'b' '$ printf "1\n2\n"' '1' '$ true' 'x' '$ echo y' \
    '$ printf "1\n2\n"' '...' '3' '$ printf "1\n2\n3\n"' '...' '2' '```' >"$work/bad.md"
run "$work/good.md" || { echo "the check itself is broken: it refuses a good document"; result=1; }
found=$(run "$work/bad.md" | grep -c "^$work/bad.md:")
[ "$found" -eq 6 ] || { echo "the check itself is broken: $found of 6 differences found"; result=1; }
exit $result
