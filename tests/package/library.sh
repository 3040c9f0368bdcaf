#!/bin/sh
# What libbang offers, and how it and the command are hardened:
#   - the shared and the static library offer what the public headers declare,
#     all of it, and nothing else; every name begins with bang_
#   - the usual protections are in (as checksec looks for them)
set -u
build=${BANG_BUILD:-build}
failed=0
fail() {
    echo "$*"
    failed=1
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL

# Names.
nm -D --defined-only "$build/libbang.so" | awk '{ sub(/@.*/, "", $3); print $3 }' |
    grep -v '^BANG_[0-9.]*$' | sort -u >"$work/shared"
nm -g --defined-only "$build/libbang.a" | awk 'NF == 3 { print $3 }' | sort -u >"$work/static"
nm -g --defined-only "$build/whole/libbang.a" | awk 'NF == 3 { print $3 }' | sort -u >"$work/all"
comm -12 "$build/exported.txt" "$work/all" >"$work/public"
for kind in shared static; do
    cmp -s "$work/public" "$work/$kind" ||
        fail "the $kind library differs from the headers: $(diff "$work/public" "$work/$kind")"
    others=$(grep -v '^bang_' "$work/$kind")
    [ -z "$others" ] || fail "the $kind library offers $others"
done
for name in bang_bridge_theory bang_average_plan bang_role_names; do
    grep -qx "$name" "$work/shared" || fail "libbang.so lacks $name"
done
[ "$(wc -l <"$work/public")" -lt "$(wc -l <"$work/all")" ] || fail "nothing is private"
readelf -d "$build/libbang.so" | grep -q 'SONAME.*\[libbang[.]so[.][0-9]*[.][0-9]*\]' ||
    fail "libbang.so has no versioned soname"

# Protections: prints what FILE lacks. A Debug build has no FORTIFY.
fortified=1
grep -q '^CMAKE_BUILD_TYPE:.*=Debug$' "$build/CMakeCache.txt" && fortified=0
lacks() {
    readelf -W -l "$1" >"$work/segments"
    readelf -W -d "$1" >"$work/dynamic"
    readelf -W --dyn-syms "$1" >"$work/symbols"
    grep -q GNU_RELRO "$work/segments" || echo relro
    grep -qE 'BIND_NOW|FLAGS.* NOW' "$work/dynamic" || echo now
    grep -q 'GNU_STACK .* RW  *0x' "$work/segments" || echo noexecstack
    grep -qE 'LOAD .* RWE ' "$work/segments" && echo write-xor-execute
    grep -qE 'RPATH|RUNPATH' "$work/dynamic" && echo no-rpath
    readelf -W -h "$1" | grep -q 'Type:.* DYN ' || echo position-independent
    case $1 in
    *.so) ;;
    *) grep -q 'FLAGS_1.* PIE' "$work/dynamic" || echo pie ;;
    esac
    grep -q '__stack_chk_fail' "$work/symbols" || echo stack-protector
    [ $fortified -eq 0 ] || grep -qE '__[a-z]+_chk(@| |$)' "$work/symbols" || echo fortify
}
for file in "$build/bang" "$build/libbang.so"; do
    missing=$(lacks "$file")
    [ -z "$missing" ] || fail "$file lacks $missing"
done

# The check itself finds a program that has none of it.
cat >"$work/bare.c" <<'C'
#include <string.h>
int main(int argc, char **argv)
{
    char copy[64];
    memset(copy, 0, sizeof copy);
    memcpy(copy, argv[0], (unsigned)argc);
    return copy[0];
}
C
${CC:-gcc} -O0 -fno-stack-protector -U_FORTIFY_SOURCE -no-pie -fno-pie -Wl,-z,norelro -Wl,-z,lazy \
    -Wl,-z,execstack -Wl,-rpath,/nowhere "$work/bare.c" -o "$work/bare" 2>/dev/null ||
    fail "the bad example does not compile"
fortified=1
for one in relro now noexecstack no-rpath position-independent pie stack-protector fortify; do
    lacks "$work/bare" | grep -qx -- "$one" || fail "the check itself is broken: it takes no $one"
done
exit $failed
