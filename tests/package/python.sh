#!/bin/sh
# python/bang.py gives what the command gives, and refuses what it should.
set -u
cd "${BANG_SOURCE:-$(dirname "$0")/../..}" || exit 1
build=$(cd "${BANG_BUILD:-build}" && pwd) || exit 1
python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || { echo 'no numpy: install python3-numpy'; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
BANG_LIBRARY=$build/libbang.so
PYTHONPATH=$PWD/python
PYTHONDONTWRITEBYTECODE=1
export BANG_LIBRARY PYTHONPATH PYTHONDONTWRITEBYTECODE
BANG_LIBRARY=/nowhere/libbang.so $python -c 'import bang' 2>"$work/said" && {
    echo "a library that is not there is not missed"
    exit 1
}
grep -q 'ImportError: libbang: not found' "$work/said" || { cat "$work/said"; exit 1; }
cd "$work" && $python "$OLDPWD/tests/package/python_cases.py" "$build/bang"
