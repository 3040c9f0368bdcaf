#!/bin/sh
# The Debian packages: lintian finds no error, and they install, run and go away
# without a trace, in a tree of their own.
set -u
cd "${BANG_SOURCE:-$(dirname "$0")/../..}" || exit 1
build=${BANG_BUILD:-build}
for tool in dpkg-deb dpkg-shlibdeps lintian; do
    command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/package/stage.inc
. tests/package/stage.inc
failed=0
fail() {
    echo "$*"
    failed=1
}
packaging/make-deb "$build" "$work/debs" || exit 1
lintian --allow-root --fail-on error "$work"/debs/*.deb >"$work/said" 2>&1 ||
    fail "lintian: $(cat "$work/said")"
[ "$(grep -c '^W:' "$work/said")" -le 4 ] || fail "more warnings than packages: $(cat "$work/said")"
dpkg-deb -f "$work"/debs/bang_*.deb Depends | grep -q 'libc6.*libjansson4' ||
    fail "bang does not say what it depends on"

# A system with nothing but a package database; dependencies are this machine's.
root=$work/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/triggers"
: >"$root/var/lib/dpkg/status"
run_dpkg() {
    dpkg --root="$root" --log="$work/dpkg.log" --force-depends --force-not-root \
        --force-script-chrootless "$@" >"$work/said" 2>&1 || fail "dpkg $1: $(cat "$work/said")"
}
run_dpkg --install "$work"/debs/*.deb
names=$(for deb in "$work"/debs/*.deb; do dpkg-deb -f "$deb" Package; done)
[ "$(echo "$names" | wc -l)" -eq 4 ] || fail "not four packages: $names"

bang=$root/usr/bin/bang
"$bang" --version | grep -q '^bang [0-9]' || fail "the command does not run"
tiny_pair
"$bang" average "$work/pre.safetensors" "$work/fine.safetensors" -o "$work/out.safetensors" -q
is_average "$work/out.safetensors" || fail "the average is wrong"
module=$root/usr/lib/python3/dist-packages
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$module /usr/bin/python3 -c '
import bang, sys
bang.average(sys.argv[1:3], sys.argv[3], alpha=.5)' \
    "$work/pre.safetensors" "$work/fine.safetensors" "$work/python.safetensors"
is_average "$work/python.safetensors" || fail "python: the average is wrong"
[ -f "$root/usr/share/man/man1/bang-average.1.gz" ] || fail "no man page"

# shellcheck disable=SC2086 # names are words
run_dpkg --purge $names
left=$(find "$root" ! -type d ! -path '*/var/lib/dpkg/*')
[ -z "$left" ] || fail "left behind: $left"
exit $failed
