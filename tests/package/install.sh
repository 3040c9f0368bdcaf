#!/bin/sh
# What `make install` puts down is enough to build on: the example against the
# shared and the static library, by pkg-config and by CMake, a C++ program, and
# the Python module; every man page renders without a warning; completion offers commands,
# options, their values and files.
set -u
cd "${BANG_SOURCE:-$(dirname "$0")/../..}" || exit 1
build=$(cd "${BANG_BUILD:-build}" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/package/stage.inc
. tests/package/stage.inc
failed=0
fail() {
    echo "$*"
    failed=1
}
usr="$work/a tree" # a prefix may hold a blank
mkdir -p "$usr/lib" "$usr/share/man" # empty ones that are not ours
tools/install-tree install "$build" "$work/installed" "$usr" >"$work/log" || { cat "$work/log"; exit 1; }
pc=$(find "$usr" -name bang.pc)
lib=$(dirname "$(dirname "$pc")")
[ "$("$usr/bin/bang" --version)" = "$("$build/bang" --version)" ] || fail "the command does not run"
for file in libbang.so libbang.a cmake/bang/bangConfig.cmake; do
    [ -e "$lib/$file" ] || fail "$file is not installed"
done
(cd include && find . -name '*.h') | while read -r header; do
    [ -f "$usr/include/$header" ] || echo "$header"
done >"$work/missing"
[ -s "$work/missing" ] && fail "headers are not installed: $(cat "$work/missing")"
ln -s "$usr" "$work/usr" # what pkg-config prints is split at blanks by shells

# The example, three ways.
tiny_pair
"$build/bang" theory -p 0.9 --model 2,3 --model 2,3 --overlap 1,1 --json >"$work/predicted"
PKG_CONFIG_PATH=$(echo "$work/usr${pc#"$usr"}" | sed 's|/bang.pc$||')
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$lib
export LD_LIBRARY_PATH
try() {
    rm -f "$work/out.safetensors"
    "$1" "$work/pre.safetensors" "$work/fine.safetensors" "$work/out.safetensors" >"$work/said" ||
        fail "$2: the example fails"
    is_average "$work/out.safetensors" || fail "$2: the average is wrong"
    tail -n 1 "$work/said" | cmp -s - "$work/predicted" || fail "$2: the prediction is wrong"
}
flags='-std=c17 -Wall -Wextra -Werror'
[ "$(wc -l <examples/average_and_ask.c)" -lt 60 ] || fail "the example has grown"
# shellcheck disable=SC2046,SC2086 # lists of words
${CC:-gcc} $flags examples/average_and_ask.c $(pkg-config --cflags --libs bang) \
    -o "$work/shared" && try "$work/shared" shared
readelf -d "$work/shared" | grep -q 'NEEDED.*libbang[.]so[.]' || fail "shared: it is not"
# shellcheck disable=SC2046,SC2086
${CC:-gcc} $flags examples/average_and_ask.c $(pkg-config --cflags bang) \
    -Wl,-Bstatic -lbang -Wl,-Bdynamic $(pkg-config --libs --static bang | sed 's/-lbang //') \
    -L"$work/usr/${lib#"$usr"/}" -o "$work/static" && try "$work/static" static
readelf -d "$work/static" | grep -q 'NEEDED.*libbang[.]so' && fail "static: it is not"
# glibc warns that some of its functions load libraries all the same
# shellcheck disable=SC2046,SC2086
${CC:-gcc} $flags -static examples/average_and_ask.c $(pkg-config --static --cflags --libs bang) \
    -o "$work/alone" 2>"$work/log" || fail "alone: $(cat "$work/log")"
try "$work/alone" alone
readelf -d "$work/alone" | grep -q NEEDED && fail "alone: it is not"
{ cmake -S examples -B "$work/cmake" -DCMAKE_PREFIX_PATH="$usr" &&
    cmake --build "$work/cmake"; } >"$work/log" 2>&1 || fail "cmake: $(cat "$work/log")"
try "$work/cmake/average_and_ask" cmake
cat >"$work/program.cpp" <<'C'
#include <bang/bang.h>
#include <cstdio>
int main()
{
    bang_cancel cancel = {};
    int before = bang_cancel_raise(&cancel);
    std::printf("%d%d\n", before, bang_cancelled(&cancel));
}
C
# shellcheck disable=SC2046
${CXX:-g++} -std=c++11 -Wall -Wextra -Werror -pedantic "$work/program.cpp" \
    $(pkg-config --cflags --libs bang) -o "$work/program" || fail "C++: it does not compile"
[ "$("$work/program")" = 01 ] || fail "C++: it does not run"
"$work/shared" nothing "$work/fine.safetensors" "$work/out.safetensors" 2>/dev/null &&
    fail "the example does not notice a missing file"

# Python finds the library of its own prefix.
module=$(find "$usr" -name bang.py)
told=$(unset LD_LIBRARY_PATH && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${module%/*} /usr/bin/python3 -c \
    'import bang; print(bang.version(), bang.theory(.9, ["2,3"])["classes"])')
[ "bang $told" = "$("$build/bang" --version) 3" ] || fail "python: $told"

# Man pages: one for each command, no warning.
for name in $("$build/bang" --help | awk '/^[^ ].*:$/ { on = $0 == "Commands:" } on && /^  [a-z]/ { print "-" $1 }') ''; do
    page=$usr/share/man/man1/bang$name.1
    [ -f "$page" ] || { fail "bang$name.1 is missing"; continue; }
    warned=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings=w -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
    [ -z "$warned" ] || fail "bang$name.1: $warned"
    shown=$(LC_ALL=C.UTF-8 MANWIDTH=400 man -l "$page" 2>/dev/null)
    # every word of the help is on the page, but for the headings
    # shellcheck disable=SC2086
    "$build/bang" ${name#-} --help | sed '/^[A-Z][a-z]*:$/d; s/^Usage: //' | tr -s ' ' '\n' |
        sort -u >"$work/words"
    lost=$(printf '%s\n' "$shown" | tr -s ' ' '\n' | sort -u | comm -23 "$work/words" -)
    [ -z "$lost" ] || fail "bang$name.1 lacks words of the help: $lost"
done

# Completion, as the shells run it.
PATH=$usr/bin:$PATH
export PATH
: >"$work/some.npy"
cat >"$work/complete.bash" <<'C'
. "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_bang
printf '%s\n' "${COMPREPLY[@]}"
C
offers() {
    wanted=$1
    shift
    (cd "$work" && bash --norc complete.bash "$usr/share/bash-completion/completions/bang" "$@") |
        grep -qx -- "$wanted" || fail "bash does not offer $wanted after $*"
}
offers theory bang th
offers get bang data g
offers --overlap bang theory --ov
offers --from bang data get --f
offers some.npy bang diagnose --labels so
offers sgd bang train --optimizer s
offers sgd bang train --data x --optimizer ''
offers layer-norm bang average a b --balance l
offers ties bang average -m t
offers generating-function bang theory --method g
offers shift bang data make s
offers ensemble-size bang reproduce theory ens
offers all bang reproduce al
offers fashion-mnist bang data get f
offers hirescam bang explain h
offers sgd bang train --optimizer = s
offers sgd bang train --optimizer =
offers clip-open_clip bang convert --to clip-o
offers probabilities bang predict --ensemble p
offers hf bang predict --crop h
offers skip bang predict --on-bad-image s
offers test bang data make shift --split t
offers change bang diff --sort c
offers order bang explain gradcam --by o
offers outputs bang diagnose --label-numbers o
offers FFT bang diagnose --list FF
offers all bang diagnose --list a
offers rotate bang train --augment r
offers sample bang simulate --draw s
offers multicolor bang train --data m
offers some.npy bang train --data so
offers bf16 bang average --dtype b
offers exact bang train --gelu ''
# what stands for a number or a file has no words of its description
offers_only() {
    wanted=$1
    shift
    told=$(cd "$work" && bash --norc complete.bash "$usr/share/bash-completion/completions/bang" "$@")
    [ "$told" = "$wanted" ] || fail "bash offers $told after $*"
}
offers_only '' bang train --steps x
offers_only some.npy bang theory --output so
# zsh's own parts, the matching of words and the menu, are left out.
cat >"$work/complete.zsh" <<'C'
completion=$1
shift
words=("$@") CURRENT=$#
_describe() { print -rl -- "${(P@)@[-1]}" }
_files() { print FILES }
compset() { :; }
source $completion
C
zsh_offers() {
    wanted=$1
    shift
    zsh -f "$work/complete.zsh" "$usr/share/zsh/site-functions/_bang" "$@" | grep -q -- "$wanted" ||
        fail "zsh does not offer $wanted after $*"
}
if command -v zsh >/dev/null; then
    zsh_offers '^theory:predict the accuracy' bang th
    zsh_offers '^get:fetch' bang data g
    zsh_offers '^--overlap:features that two models share$' bang theory --ov
    zsh_offers '^-K:number of classes' bang theory -
    zsh_offers '^--from:take the files' bang data get --f
    zsh_offers FILES bang diagnose --labels so
    zsh_offers '^sgd$' bang train --optimizer s
    zsh_offers '^ties$' bang average -m t
    zsh_offers '^shift$' bang data make s
    zsh_offers '^ensemble-size$' bang reproduce theory ens
    zsh_offers '^all$' bang reproduce al
    zsh_offers '^hirescam:each patch' bang explain h
    zsh_offers '^sgd$' bang train --optimizer=s
    zsh_offers '^skip$' bang predict --on-bad-image s
    zsh_offers '^multicolor$' bang train --data m
    zsh_offers FILES bang train --data m
else
    fail "zsh is not installed"
fi

# Gone, twice installed as it is, but for what was there or came since.
tools/install-tree install "$build" "$work/installed" "$usr" >"$work/log" || fail "$(cat "$work/log")"
: >"$usr/share/bang.txt"
tools/install-tree uninstall "$work/installed" >"$work/log" || fail "$(cat "$work/log")"
left=$(cd "$usr" && find . -mindepth 1 | sort | tr '\n' ' ')
[ "$left" = './lib ./share ./share/bang.txt ./share/man ' ] || fail "uninstall leaves $left"
DESTDIR="$work/stage" tools/install-tree install "$build" "$work/staged" /opt/bang >"$work/log" ||
    fail "$(cat "$work/log")"
[ -f "$work/stage/opt/bang/bin/bang" ] || fail "DESTDIR: nothing is there"
DESTDIR="$work/stage" tools/install-tree uninstall "$work/staged" >"$work/log" || fail "$(cat "$work/log")"
[ "$(find "$work/stage" | sort | tail -n 1)" = "$work/stage/opt/bang" ] || fail "DESTDIR: something is left"
exit $failed
