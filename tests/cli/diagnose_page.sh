# bang diagnose --html: what stands on the page, what it decides, and that it says what JSON says.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
logits() { $python "$here/../make_logits.py" "$@"; }
page() { $python "$here/../read_page.py" "$@"; }
# of NAME: the options of one set, in the folder of that name
of() { printf '%s ' --set "$1" --labels "$1/y.npy" --pre "$1/pm.npy" --fine "$1/fm.npy"; }
logits id pre=1.6 fine=2.6 seed=1 alphas=0.2,0.5,0.8
logits art pre=1.9 fine=1.4 seed=2 alphas=0.2,0.5,0.8
logits ink pre=1.2 fine=1.3 seed=3 alphas=0.2,0.5,0.8
printf 'name,fine,avg\na,.50,.60\nb,.52,.61\nc,.54,.63\nd,.56,.64\nMixup + LS,.55,.66\n' >runs.csv

# everything there is, numbers as in JSON, the same bytes on any number of threads
for threads in 1 3; do
    # shellcheck disable=SC2046
    bang diagnose $(of id) --avg id/am.npy --at 'id/am-{alpha}.npy' \
        $(of art) --avg art/am.npy --at 'art/am-{alpha}.npy' \
        $(of ink) --avg ink/am.npy --at 'ink/am-{alpha}.npy' \
        --alphas 0.2,0.5,0.8 --list FFT --by-class --curve runs.csv --highlight 'Mixup + LS' \
        --bootstrap 2000 --html page.html --threads $threads --json >found.json
    sed 's|<pre class="command">.*</code></pre>||; s|<p class="paper">.*</p>||' page.html >page-$threads.html
done
cmp page-1.html page-3.html && echo same bytes
page outline page.html
page verdicts page.html
page same page.html found.json
grep -o "<pre class=\"command\"><code>bang diagnose --set id .*" page.html | sort -u | cut -c 1-120

# one set; an ensemble in the place of the average; no labels; a curve alone
bang diagnose --labels art/y.npy --pre art/pm.npy --fine art/fm.npy --alphas .25,.75 --html one.html --quiet
page outline one.html
page verdicts one.html
bang diagnose --pre art/pm.npy --fine art/fm.npy --avg art/am.npy --html none.html --quiet
page outline none.html
bang diagnose --curve runs.csv --html curve.html --quiet
page outline curve.html

# verdicts that are not: no intervals; an average that is worse than both; good and bad
# shellcheck disable=SC2046
bang diagnose $(of id) --avg id/am.npy $(of art) --avg art/am.npy --bootstrap 0 --html open.html --quiet
page verdicts open.html
logits bad seed=4 bonus=-2 fine_scale=.5 pre_scale=4
# shellcheck disable=SC2046
bang diagnose $(of bad) --avg bad/am.npy --html bad.html --quiet
page verdicts bad.html
logits good seed=5 bonus=3
logits worse seed=6 bonus=-1.2
# shellcheck disable=SC2046
bang diagnose $(of id) --avg id/am.npy $(of good) --avg good/am.npy $(of worse) --avg worse/am.npy \
    $(of art) --html partly.html --quiet
page verdicts partly.html

# names that are markup stay text
bang diagnose --set '<script>alert(1)</script>&"' --labels id/y.npy --pre id/pm.npy --fine id/fm.npy \
    --set "it's %s" --labels art/y.npy --pre art/pm.npy --fine art/fm.npy --html names.html --quiet
page outline names.html | sed -n 1,4p
grep -c 'alert(1)<' names.html
grep -o "code>bang diagnose.*" names.html | sed -n 1p
