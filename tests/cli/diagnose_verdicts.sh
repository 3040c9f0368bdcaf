# Which differences bang diagnose calls real, and what it says where no temperature fits.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
page() { $python "$here/../read_page.py" "$@"; }
# logits FOLDER GROUP=COUNT...: three models that are right or wrong as the groups say
cat >logits.py <<'END'
import os
import sys
import numpy as np
folder, *words = sys.argv[1:]
words = dict(word.split("=") for word in words)
groups = [g for g, n in words.items() for _ in range(int(n))]
labels = np.arange(len(groups)) % 3
os.makedirs(folder, exist_ok=True)
np.save(folder + "/y.npy", labels)
for m, name in enumerate(("pm", "fm", "am")):
    right = np.array([g[m] == "T" for g in groups])
    logits = np.zeros((len(groups), 3), "f4")
    logits[np.arange(len(groups)), np.where(right, labels, (labels + 1) % 3)] = 1 + m
    logits[:, 0] += 1e-3 * np.arange(len(groups)) / len(groups)
    np.save(f"{folder}/{name}.npy", logits)
END
logits() { $python logits.py "$@"; }
of() { printf '%s ' --set "$1" --labels "$1/y.npy" --pre "$1/pm.npy" --fine "$1/fm.npy" --avg "$1/am.npy"; }

# the same numbers, the same verdict: AM - FM, and TF+FT where all of it happens; 1 against 7 may
# be chance, 0 against 8 is real; and so it is for PM, and for TT+FF
logits few TTT=100 FFF=20 TFT=1 FTF=7 FTT=12
logits many TTT=100 FFF=20 FTF=8 FTT=12
logits pm TTT=100 FFF=20 FTT=1 TFF=7 TFT=12
logits both TTT=100 FFF=31 TTF=7 FFT=1 FTT=1
verdicts() { sed -n '/^AM - [FP]M/p; /^T[TF]+/p; /^all, /p; /^points/p; /TF+FT):/,/^Wh/p'; }
for set in few many pm both; do
    echo "$set"
    bang diagnose --labels $set/y.npy --pre $set/pm.npy --fine $set/fm.npy --avg $set/am.npy | verdicts
done
# shellcheck disable=SC2046
bang diagnose $(of few) $(of many) $(of pm) | sed '/^Temperatures/,$d'

# a model that makes no mistake where temperatures are fitted: what would be calibrated by it is
# not shown; JSON has its numbers all the same
logits id TTT=60 FTT=30 FTF=10
logits art TTT=60 FTT=30 TFT=10 FFF=20 TFF=5
run diagnose --labels id/y.npy --pre id/pm.npy --fine id/fm.npy --avg id/am.npy --html one.html
# shellcheck disable=SC2046
bang diagnose $(of id) $(of art) --html two.html
# shellcheck disable=SC2046
bang diagnose $(of id) $(of art) --bootstrap 0 --json | $python -c '
import json, sys
found = json.load(sys.stdin)
print(found["temperature_at_limit"])
for s in found["sets"]:
    print(s["temperature"]["fine"], s["calibrated_ose"], s["accuracy"]["fine"])
print(found["conclusions"][-1])'
for file in one two; do
    page outline $file.html | grep -i calibra
    grep -c 'no temperature fits' $file.html
done
# on another set one fits
# shellcheck disable=SC2046
bang diagnose $(of id) $(of art) --fit-temperature art | sed -n '/^All/,/^art/p; /no temperature/p'
# of a model that is wrong whenever it is sure, none fits either
logits bad FTT=90 TTT=2
bang diagnose --labels bad/y.npy --pre bad/pm.npy --fine bad/fm.npy --bootstrap 0 |
    sed -n '/^per cent/,/^$/p; /no temperature/,$p'
