#!/bin/sh
# Every page that bang writes, of files, layers, classes, sets and records whose names are markup
# and scripts: in Chromium nothing of them runs, and they are shown as the text that they are
# (hostile.js beside this). Shows on pages that are not escaped that it would notice. Then a page
# with the policy that it comes with, which lets its own script run and a foreign one not.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bang=$(cd "${BANG_BUILD:-$here/../../build}" && pwd)/bang
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$browser" ]; then
    echo "chromium is not installed"
    [ ! -e /etc/debian_version ] || exit 1
    exit 77
fi
python=python3
$python -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || { echo 'no numpy: install python3-numpy'; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here/..
export PYTHONDONTWRITEBYTECODE PYTHONPATH

# A name that can be that of a file has no slash.
script='<script>owned()</script>'
image='"><img src=x onerror=owned()>'
quote="' onmouseover='owned()' x='"
svg='<svg onload=owned()>&lt;b&gt;'
file='<img src=x onerror=owned()>.safetensors'

# open PAGE: runs the browser over it
open() {
    rm -rf "$work/profile"
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync \
        --disable-dev-shm-usage --user-data-dir="$work/profile" --window-size=1200,900 \
        --enable-logging=stderr --virtual-time-budget=20000 --dump-dom "file://$1" \
        >"$work/dom" 2>"$work/log" </dev/null || echo "the browser fails: $(tail -n 1 "$work/log")"
}

# try PAGE NAME...: prints what is wrong with the page, on which these names must be
try() {
    page=$1
    shift
    {
        sed "s|script-src 'sha256-[^']*'|script-src 'unsafe-inline'|; /^<\\/body>\$/,\$d" "$page"
        echo '<script>const expected ='
        # text in a script: no tag may end it
        $python -c 'import json, sys; print(json.dumps(sys.argv[1:]).replace("<", "\\u003c"))' "$@"
        echo ';'
        cat "$here/hostile.js"
        echo '</script></body></html>'
    } >"$work/page.html"
    open "$work/page.html"
    sed -n 's/^problem: //p' "$work/dom"
    grep -q '^done [1-9]' "$work/dom" || echo 'the test does not come to its end'
}

# expect_none PAGE NAME...
expect_none() {
    found=$(try "$@")
    [ -z "$found" ] && return
    printf '%s\n' "$found" | sed "s|^|$1: |" | head -n 20
    failed=1
}

# A report: every text of every kind of entry is one of these names.
mkdir run
$python - "$here/showcase.jsonl" "$script" "$image" "$quote" "$svg" >run/results.jsonl <<'END'
import itertools, json, sys

names = itertools.cycle(sys.argv[2:])
keep = {"kind", "png", "holds", "shade", "shape", "shapes", "scale"}


def spoil(value):
    if isinstance(value, str):
        return next(names) + value[:8]
    if isinstance(value, list):
        return [spoil(item) for item in value]
    if isinstance(value, dict):
        return {key: item if key in keep else spoil(item) for key, item in value.items()}
    return value


for line in open(sys.argv[1]):
    record = spoil(json.loads(line))
    record["options"]["a" + next(names)] = next(names)
    record["command"] = next(names)
    print(json.dumps(record))
END
"$bang" report run -o report.html -q || exit 1
expect_none report.html "$script" "$image" "$quote" "$svg"

# Differences of layers.
$python - "$file" "$script" "$image" "$quote" "$svg" <<'END'
import sys
import numpy as np
import read_checkpoint as r
for seed, path in enumerate((sys.argv[1], "b.safetensors")):
    random = np.random.default_rng(seed)
    tensors = {name + ".weight": random.standard_normal((2, 3)).astype("<f4")
               for name in sys.argv[2:5]}
    tensors[sys.argv[5] + str(seed)] = np.zeros(1, "<f4")
    r.write(path, tensors)
END
"$bang" diff "$file" b.safetensors --html diff.html -q >/dev/null || exit 1
expect_none diff.html "$script" "$image" "$quote" "$svg" "$file"

# A diagnosis: sets, classes, files, points of a curve.
$python "$here/../make_logits.py" set seed=1 || exit 1
rows=$($python -c 'import numpy; print(len(numpy.load("set/y.npy")))')
columns=$($python -c 'import numpy; print(numpy.load("set/pm.npy").shape[1])')
i=0
while [ $i -lt "$columns" ]; do
    echo "$i$image"
    i=$((i + 1))
done >classes
i=0
while [ $i -lt "$rows" ]; do
    echo "$i$svg"
    i=$((i + 1))
done >files
printf 'name,fine,avg\n%s,.50,.60\nb,.52,.61\nc,.54,.63\nd,.56,.64\n' "$quote" >curve.csv
"$bang" diagnose --set "$script" --labels set/y.npy --pre set/pm.npy --fine set/fm.npy \
    --class-names classes --files files --list FFT --by-class --curve curve.csv --bootstrap 100 \
    --html diagnose.html -q >/dev/null || exit 1
expect_none diagnose.html "$script" "$image" "$svg" "$quote"

# An explanation: class folders, pictures, models.
mkdir photos models
$python "$here/../make_pictures.py" p classes=cat,dog count=2 || exit 1
mv p/cat "photos/<img src=x onerror=owned()>"
mv p/dog "photos/$quote"
for picture in photos/*/*; do
    mv "$picture" "${picture%/*}/<svg onload=owned()>${picture##*/}"
done
$python "$here/../make_clip.py" m.safetensors depth=1 text_depth=1 || exit 1
$python "$here/../vit_reference.py" head head.safetensors classes=2 features=6 seed=2 || exit 1
mv m.safetensors "models/$file"
"$bang" explain gradcam --model "models/$file" --head head.safetensors --data photos --heads 2 \
    --html explain.html -q >/dev/null || exit 1
expect_none explain.html '<img src=x onerror=owned()>' '<svg onload=owned()>'

# The check itself: pages that are not escaped.
for entity in 's/&lt;/</g; s/&gt;/>/g' 's/&quot;/"/g'; do
    sed "$entity" report.html >damaged.html
    [ -n "$(try "$work/damaged.html" "$script")" ] ||
        { echo "the check itself is broken: it does not notice $entity"; failed=1; }
done

# The policy of the page: its own script runs (it adds the box that tells values), others do not.
sed 's|^</body>$|<script>document.title = "owned"</script><img src=x onerror="document.title = \x27owned\x27">&|' \
    report.html >policy.html
open "$work/policy.html"
grep -q 'class="readout"' dom || { echo "the page's own script does not run"; failed=1; }
! grep -q '<title>owned' dom || { echo "the page's policy lets a foreign script run"; failed=1; }
exit $failed
