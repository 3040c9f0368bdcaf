# bang diagnose: text, JSON, CSV and page, on logits of numpy's.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
logits() { $python "$here/../make_logits.py" "$@"; }
# JSON with 6 digits, without the sets, long lists by their first entry
rounded() {
    $python -c '
import json, sys
def shorten(x):
    if isinstance(x, float):
        return float("%.6g" % x)
    if isinstance(x, dict):
        return {k: shorten(v) for k, v in x.items()}
    if isinstance(x, list):
        return [shorten(v) for v in (x if len(x) < 9 else [x[0], "..."])]
    return x
def show(x, indent=""):
    for k, v in x.items():
        if isinstance(v, dict) and any(isinstance(w, dict) for w in v.values()):
            print(indent + k)
            show(v, indent + "  ")
        else:
            print(indent + k, json.dumps(v))
found = json.load(sys.stdin)
sets = found.pop("sets")
assert len(sets) > 1 or all(found[k] == sets[0][k] for k in sets[0])
show(shorten(found))'
}
logits id pre=1.6 fine=2.6 seed=1 alphas=0.2,0.4,0.5,0.8
logits art pre=1.9 fine=1.4 seed=2 alphas=0.2,0.4,0.5,0.8
logits ink pre=1.2 fine=1.3 seed=3 alphas=0.2,0.4,0.5,0.8

# one set
run diagnose --labels art/y.npy --pre art/pm.npy --fine art/fm.npy --avg art/am.npy
bang diagnose --labels art/y.npy --pre art/pm.npy --fine art/fm.npy --avg art/am.npy --name art \
    --bins 5 --bootstrap 500 --json | rounded
# the same bytes on any number of threads, other ones with another seed
for options in '--threads 1' '--threads 3' '--seed 2'; do
    # shellcheck disable=SC2086
    bang diagnose --labels art/y.npy --pre art/pm.npy --fine art/fm.npy --json $options >"one$options"
done
cmp 'one--threads 1' 'one--threads 3' && echo same
cmp -s 'one--threads 1' 'one--seed 2' || echo others

# two models, without labels, without intervals, without temperatures
run diagnose --labels ink/y.npy --pre ink/pm.npy --fine ink/fm.npy --bootstrap 0 --fit-temperature none
run diagnose --pre ink/pm.npy --fine ink/fm.npy --name ink --weights 2,1
bang diagnose --pre ink/pm.npy --fine ink/fm.npy --bins 2 --json | rounded

# several sets, averages at alphas, one set without labels
run diagnose --set id --labels id/y.npy --pre id/pm.npy --fine id/fm.npy --at 'id/am-{alpha}.npy' \
    --set art --labels art/y.npy --pre art/pm.npy --fine art/fm.npy --at 'art/am-{alpha}.npy' \
    --set ink --pre ink/pm.npy --fine ink/fm.npy --at 'ink/am-{alpha}.npy' \
    --alphas 0.2,0.5,0.8 --html page.html --csv all.csv --threads 2 --details
run diagnose --set id --labels id/y.npy --pre id/pm.npy --fine id/fm.npy --avg id/am.npy -q \
    --set art --labels art/y.npy --pre art/pm.npy --fine art/fm.npy --avg art/am.npy \
    --set ink --pre ink/pm.npy --fine ink/fm.npy
run diagnose --set id --labels id/y.npy --pre id/pm.npy --fine id/fm.npy -q \
    --set art --labels art/y.npy --pre art/pm.npy --fine art/fm.npy
grep -c '</html>' page.html
head -n 12 all.csv
cut -d, -f1,2 all.csv | sort | uniq -c | grep ' \(art\|average OOD\|\),' | tr -s ' '
bang diagnose --set id --labels id/y.npy --pre id/pm.npy --fine id/fm.npy --at 'id/am-{alpha}.npy' \
    --set art --labels art/y.npy --pre art/pm.npy --fine art/fm.npy --at 'art/am-{alpha}.npy' \
    --set ink --labels ink/y.npy --pre ink/pm.npy --fine ink/fm.npy --at 0.2=ink/am-0.2.npy \
    --at 0.8=ink/am-0.8.npy --avg ink/am.npy --alphas 0.2,0.8 --id ink --bootstrap 100 \
    --temperature 1,1.5 --json | rounded

# which samples, which classes
seq 1 400 | sed 's/.*/picture &.jpg/' >names
printf 'ape\nbee\ncat\ndog\neel\n' >classes
run diagnose --labels art/y.npy --pre art/pm.npy --fine art/fm.npy --list TTF,FFT --files names \
    --class-names classes --by-class --bootstrap 0 -q >listed
sed -n '/^Classes/,/^Temperatures/p' listed
bang diagnose --labels art/y.npy --pre art/pm.npy --fine art/fm.npy --list FFT --files names \
    --class-names classes --bootstrap 0 --json |
    $python -c 'import json, sys; all = json.load(sys.stdin); print(all["samples"])
for sample in all["samples_detail"][:2]:
    print(*(sample[k] for k in ("index", "group", "label", "predictions", "names", "file")))
    print(*("%.4f" % sample[k][m] for k in ("confidence", "margin") for m in ("pre", "fine", "avg")))'

# a folder of pictures, as bang predict reads it
logits small count=6 classes=2 seed=5
pictures photos classes=ape,bee count=3 width=8 height=8
run diagnose --labels small/y.npy --pre small/pm.npy --fine small/fm.npy --list all --files photos \
    --bootstrap 0 -q >small.txt
grep -A 2 -E '^[TF]{3}: [1-9]' small.txt

# a subset of the classes; labels are outputs, and those of others left out
run diagnose --labels id/y.npy --pre id/pm.npy --fine id/fm.npy --classes 1,3,4 --label-numbers outputs \
    --class-names classes --by-class --bootstrap 0 -q >subset
head -n 8 subset
grep -A 5 '^Classes' subset

# probabilities: the same but for the rounding of f32
$python -c '
import numpy as np
for name in "pm", "fm", "am":
    z = np.load("art/" + name + ".npy").astype(float)
    p = np.exp(z - z.max(1, keepdims=True))
    np.save(name + ".npy", p / p.sum(1, keepdims=True))'
bang diagnose --labels art/y.npy --pre pm.npy --fine fm.npy --avg am.npy --probabilities >of-probabilities
bang diagnose --labels art/y.npy --pre art/pm.npy --fine art/fm.npy --avg art/am.npy | cmp - of-probabilities &&
    echo same

# the curve
cat >runs.csv <<'END'
name,fine,avg
lr 1e-5,52.1,62.1
lr 2e-5,53.0,62.4
lr 3e-5,53.8,63.0
lr 5e-5,50.2,60.6
4 epochs,51.0,61.1
20 epochs,49.1,59.4
Mixup,53.5,64.7
"LS, 0.1",54.3,63.2
END
run diagnose --curve runs.csv --highlight Mixup --highlight 'LS, 0.1' --csv curve.csv
grep -v ',band,' curve.csv | cut -d, -f1-5 | sed 's/\([0-9]\.[0-9]\{4\}\)[0-9]*/\1/'
run diagnose --curve runs.csv --level 0.8 -q --csv curve.csv
ls
