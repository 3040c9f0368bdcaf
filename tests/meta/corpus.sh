#!/bin/sh
# Every fuzz target has seeds and every folder of seeds a target; together they are small; those
# that make_corpus.py makes are the ones that lie there.
set -u
cd "${BANG_SOURCE:-$(dirname "$0")/../..}/tests/fuzz" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
complain() {
    echo "$*"
    failed=1
}
for target in fuzz_*.c; do
    name=${target#fuzz_} name=${name%.c}
    [ -n "$(ls "corpus/$name" 2>/dev/null)" ] || complain "$target: no seeds in corpus/$name"
done
for folder in corpus/*; do
    [ -f "fuzz_${folder#corpus/}.c" ] || complain "$folder: no target of that name"
done
bytes=$(find corpus -type f -exec cat {} + | wc -c)
[ "$bytes" -le 200000 ] || complain "the corpus has $bytes bytes, more than 200000"
python3 make_corpus.py "$work/again" || complain 'make_corpus.py fails'
for file in "$work"/again/*/*; do
    cmp -s "$file" "corpus/${file#"$work/again/"}" ||
        complain "corpus/${file#"$work/again/"}: is not what make_corpus.py makes"
done
# The comparison itself: another byte is noticed.
: >"$work/again/gzip/plain"
cmp -s "$work/again/gzip/plain" corpus/gzip/plain && complain 'the check itself is broken'
exit $failed
