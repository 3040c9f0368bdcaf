# The protocol on a real model, with small pictures and a small model in their places: what is
# run, that a second run does nothing, and that the tables hold what the logits say.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
tools=$here/../../tools
pictures pacs/photo classes=cat,dog,fox count=12 noise=90
pictures pacs/art_painting classes=cat,dog,fox count=7 seed=2 shift=1 noise=90
pictures pacs/sketch classes=cat,dog,fox count=9 seed=3 shift=2 noise=90
bang train --arch vit --patch 8 --width 16 --depth 1 --heads 2 --image-size 16 --data pacs/photo --steps 20 -q -o vit.safetensors
program=$(command -v bang)
printf '#!/bin/sh\necho "$*" >>commands\nexec "%s" "$@"\n' "$program" >logged
chmod +x logged
PACS=pacs
VIT=vit.safetensors
BANG=./logged
EPOCHS=4
RATE=1e-2
ALPHAS='0.3 0.5'
export PACS VIT BANG EPOCHS RATE ALPHAS

"$tools/pacs" out 1 2 >table 2>said
echo "exit $?"
cat said
grep ^train commands
grep -c ^predict commands
grep ^average commands | head -n 3
(cd out/seed-1 && ls)
for part in train test; do (cd out/seed-1/$part && echo $part ./*/*); done
(cd out/seed-2/test && echo ./*/*)

# again: nothing is done, the tables are the same; half of it gone: that half
rm commands
"$tools/pacs" out 1 2 | cmp - table && ls commands 2>&1
rm out/seed-2/mixup.json out/seed-2/logits/mixup-0.5-art.npy out/seed-1/curve-vanilla.json
"$tools/pacs" out 1 2 2>said | cmp - table && cat said
cut -d ' ' -f 1 commands
"$tools/pacs-table" out | cmp - table && echo same

# what the tables say
sed -e 's/[-+]*[0-9][0-9.]* ± [0-9.]*/N/g' -e 's/ [0-9]*[.][0-9] / N /g' -e 's/[0-9] of 2/n of 2/' table | uniq
$python - <<'END'
import statistics
import numpy as np

def load(seed, name):
    return np.load(f"out/seed-{seed}/logits/{name}.npy")

def softmax(z):
    e = np.exp(z.astype("f8") - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)

def logits(seed, model, set):
    if model.endswith("ose"):
        return (load(seed, f"pre-{set}").astype("f8") + load(seed, f"{model[:-4]}-{set}")) / 2
    return load(seed, f"{model}-{set}")

def accuracy(seed, model, set):
    return (logits(seed, model, set).argmax(1) == load(seed, f"labels-{set}")).mean() * 100

def text(values, sign=""):
    return f"{round(statistics.fmean(values), 1) + 0.0:{sign}.1f} ± {statistics.stdev(values):.1f}"

def ood(seed, model):
    return (accuracy(seed, model, "art") + accuracy(seed, model, "sketch")) / 2

rows = [line.strip("| \n").split(" | ") for line in open("table") if line.startswith("| ")]
rows = {row[0]: row[1:] for row in rows}
names = {"vanilla": "vanilla", "ls": "LS", "mixup": "Mixup", "mixup-ls": "Mixup + LS"}
wanted = {"PM (linear probe)": "pre"}
for how, name in names.items():
    wanted[f"FM, {name}"] = how
    wanted["WiSE-FT: average of PM and FM, vanilla" if how == "vanilla"
           else f"BANG: average of PM and FM, {name}"] = f"{how}-0.5"
    wanted[f"OSE of PM and FM, {name}"] = f"{how}-ose"
right = 0
for row, model in wanted.items():
    expected = [text([accuracy(s, model, set) for s in (1, 2)]) for set in ("ID", "art", "sketch")]
    expected.append(text([ood(s, model) for s in (1, 2)]))
    expected.append(text([np.mean([softmax(logits(s, model, set)).max(1).mean() * 100
                                   for set in ("art", "sketch")]) for s in (1, 2)]))
    right += expected == rows[row][:5]
    if expected != rows[row][:5]:
        print(row, expected, rows[row])
for how, name in names.items():
    for what, other in (("PM", "pre"), ("FM", how), ("OSE", f"{how}-ose")):
        values = [ood(s, f"{how}-0.5") - ood(s, other) for s in (1, 2)]
        expected = [text(values, "+"), f"{sum(v > 1e-9 for v in values)} of 2"]
        right += expected == rows[f"average - {what}, {name}"]
        if expected != rows[f"average - {what}, {name}"]:
            print(how, what, expected, rows[f"average - {what}, {name}"])
curve = [line.strip("| \n").split(" | ") for line in open("table") if line.startswith("| 0.3 |")]
for how, row in zip(("vanilla", "mixup-ls"), curve):
    right += row[1:4] == [f"{accuracy(1, how + '-0.3', set):.1f}" for set in ("ID", "art", "sketch")]
print(right, "rows as the logits have them, of", len(wanted) + 12 + 2)
END

# refused
VIT='' "$tools/pacs" out 2>&1 | sed 's/DIR VIT=FILE .*pacs OUT/DIR VIT=FILE pacs OUT/'
PACS=nowhere "$tools/pacs" out
"$tools/pacs-table" nowhere
