#!/bin/sh
# Opens reports in Chromium, light and dark, wide and as narrow as a phone: nothing
# on the console, every chart drawn, tables and CSV with exactly the numbers of the
# records, every verdict in the overview, everything that answers to the pointer
# answers, and paper is laid out as such (report.js beside this).
# showcase.jsonl holds every kind of entry, with hostile and long texts. Shows
# on damaged reports that it would notice. Then the same for a page of bang
# diagnose, as far as that can be told without its records (diagnose.js).
set -u
here=$(cd "$(dirname "$0")" && pwd)
bang=$(cd "${BANG_BUILD:-$here/../../build}" && pwd)/bang
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$browser" ]; then
    echo "chromium is not installed"
    [ ! -e /etc/debian_version ] || exit 1
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0 checks=report.js

# page REPORT RECORDS DARK: the report with the test behind it
page() {
    # the page's policy would not let the test run
    sed "s|script-src 'sha256-[^']*'|script-src 'unsafe-inline'|; /^<\\/body>\$/,\$d" "$1"
    echo '<script>'
    echo "const expect_dark = $3, records = ["
    # Text in a script: no tag may end it.
    sed 's/</\\u003c/g; $!s/$/,/' "$2"
    echo '];'
    cat "$here/$checks"
    echo '</script></body></html>'
}

# phone FRAGMENT: a window is at least 500 px wide, a frame in it may be as narrow as a phone
phone() {
    echo '<!DOCTYPE html><body style="margin:0"><pre></pre><script>'
    echo "onmessage = ({ data }) => { document.querySelector('pre').append(data); };"
    echo "</script><iframe src=\"page.html$1\" style=\"width:360px;height:740px;border:0\"></iframe></body>"
}

# try NAME REPORT RECORDS DARK WIDTH FRAGMENT [OPTION]: prints what is wrong
try() {
    page "$2" "$3" "$4" >"$work/page.html"
    open=page.html$6
    [ "$5" -ge 500 ] || { phone "$6" >"$work/phone.html"; open=phone.html; }
    rm -rf "$work/profile"
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync \
        --disable-dev-shm-usage --user-data-dir="$work/profile" --window-size="$5,900" \
        --enable-logging=stderr --virtual-time-budget=20000 ${7:+"$7"} \
        --dump-dom "file://$work/$open" >"$work/dom" 2>"$work/log" </dev/null ||
        echo "$1: the browser fails: $(tail -n 1 "$work/log")"
    grep CONSOLE "$work/log" | sed "s/^/$1: /"
    sed -n "s/^problem: /$1: /p" "$work/dom"
    grep -q '^done [1-9]' "$work/dom" || echo "$1: the test does not come to its end"
}

# expect_none ...: as try, and there is nothing wrong
expect_none() {
    found=$(try "$@")
    [ -z "$found" ] && return
    printf '%s\n' "$found" | head -n 20
    failed=1
}

mkdir "$work/showcase"
cp "$here/showcase.jsonl" "$work/showcase/results.jsonl"
"$bang" report "$work/showcase" -o "$work/showcase/report.html" --quiet || exit 1
"$bang" reproduce theory -o "$work/theory" --quiet || exit 1

for name in showcase theory; do
    report=$work/$name/report.html records=$work/$name/results.jsonl
    expect_none "$name, light" "$report" "$records" false 1400 '#theme=light'
    expect_none "$name, dark and narrow" "$report" "$records" true 360 '#theme=dark'
    if sed 's|xmlns="http://www.w3.org/2000/svg"||g' "$report" | grep -nE 'https?:|//[a-z]+[.]'; then
        echo "$name: the report refers to something outside"
        failed=1
    fi
done
report=$work/showcase/report.html records=$work/showcase/results.jsonl
expect_none "as the system" "$report" "$records" true 1400 '' --blink-settings=preferredColorScheme=0

# damaged WHAT SED-SCRIPT: the damage is noticed
damaged() {
    sed "$2" "$report" >"$work/damaged.html"
    if cmp -s "$report" "$work/damaged.html"; then
        echo "the check itself is broken: nothing to damage: $1"
        failed=1
    elif [ -z "$(try "$1" "$work/damaged.html" "$records" false 1400 '#theme=light')" ]; then
        echo "the check itself is broken: it does not notice $1"
        failed=1
    fi
}
damaged 'another number' 's|>97.1</td>|>97.2</td>|'
damaged 'a message on the console' "s|^'use strict';|&console.warn('hello');|"
damaged 'another value of a column' 's|^TT + FF: 0.4% |TT + FF: 0.5% |'
damaged 'a column that is too short' 's|height="199.50"|height="190.50"|'
damaged 'another number in a CSV' 's|97.123400000000004|97.123500000000004|'
damaged 'a verdict on something else' 's|<td class="item">Table 1</td>|<td class="item">Table 2</td>|'
damaged 'a link to another verdict' 's|<a href="#verdict-2">|<a href="#verdict-1">|'
damaged 'controls on paper' 's|^  nav, .theme, .tool|  nav, .theme, .tol|'
damaged 'a chart that cannot be read' 's|data-points="\[|&[|'

# numpy makes the logits; another python3 may stand before Debian's on PATH
python=python3
$python -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || { echo 'no numpy: install python3-numpy'; exit 1; }
logits() { $python "$here/../make_logits.py" "$work/$1" seed="$2" alphas=0.2,0.5,0.8; }
# of NAME FOLDER: the options of one set
of() {
    printf '%s\n' --set "$1" --labels "$work/$2/y.npy" --pre "$work/$2/pm.npy" --fine "$work/$2/fm.npy" \
        --at "$work/$2/am-{alpha}.npy"
}
logits id 1 && logits art 2 && logits ink 3 || exit 1
printf 'name,fine,avg\na,.50,.60\nb,.52,.61\nc,.54,.63\nd,.56,.64\n<b>M</b>,.55,.66\n' >"$work/runs.csv"
# diagnosed PAGE NAME NAME
diagnosed() {
    {
        of id id
        of "$2" art
        of "$3" ink
        printf '%s\n' --alphas 0.2,0.5,0.8 --list FFT --curve "$work/runs.csv" --highlight '<b>M</b>' \
            --bootstrap 1000 --html "$1" --quiet
    } | xargs -d '\n' "$bang" diagnose || exit 1
}
diagnosed "$work/diagnose.html" '<script>alert(1)</script> "quoted" & </style><!--' \
    a-very-long-name-without-any-space-a-very-long-name-without-any-space
diagnosed "$work/plain.html" paintings-and-prints sketches
checks=diagnose.js report=$work/diagnose.html records=/dev/null
expect_none 'diagnose, light' "$report" "$records" false 1280 '#theme=light'
expect_none 'diagnose, plain' "$work/plain.html" "$records" false 1280 '#theme=light'
expect_none 'diagnose, dark and narrow' "$report" "$records" true 360 '#theme=dark'
damaged 'a chart that is cut' 's|viewBox="0 0 |viewBox="0 90 |'
exit $failed
