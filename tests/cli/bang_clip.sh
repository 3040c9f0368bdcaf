# Balanced averaging from a CLIP and folders of pictures to a map, by commands alone: zero-shot
# head, fine-tuning with label smoothing and Mixup, average, prediction in and out of distribution.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
accuracy() { # OUTPUT, then further arguments of bang predict: what it says in 0..1
    output=$1
    shift
    bang predict -o "$output" --json "$@" | sed 's/.*"accuracy":\([^,]*\),.*/\1/'
}
holds() { # TEXT A > B
    awk -v a="$2" -v op="$3" -v b="$4" 'BEGIN { exit !(op == ">" ? a > b : a >= b) }' &&
        echo "$1" || echo "not so: $1: $2 $3 $4"
}
pictures train classes=cat,dog,fox,owl count=24 noise=30 seed=1
pictures test classes=cat,dog,fox,owl count=12 noise=30 seed=2
pictures shifted classes=cat,dog,fox,owl count=12 seed=3 shift=0.7 noise=50
clip clip.safetensors width=64 patch=4 grid=4 embedding=24 text_width=64 text_depth=2 context=16 \
    vocabulary=731 scale=0.1 logit_scale=2 seed=4
printf 'cat\ndog\nowl\tthe old bird\nfox\n' >classes.txt
printf 'a photo of a {}.\na bad photo of the {}.\n' >templates.txt
set -- --model clip.safetensors --vocab "$here/../data/tokenizer/merges.txt" \
    --classes classes.txt --templates templates.txt -q

# the head alone beside the CLIP, and both in one file
bang zeroshot "$@" -o head.safetensors
bang zeroshot "$@" --with-model -o pre.safetensors
bang predict --model clip.safetensors --head head.safetensors --data test -o beside.npy -q
bang predict --model pre.safetensors --data test -o within.npy -q
cmp beside.npy within.npy && echo 'one file or two: the same logits'

# the paper's recipe, in the small
bang train --init pre.safetensors --data train --val test --epochs 30 --batch 16 --lr 2e-3 --optimizer adamw \
    --weight-decay 0.1 --warmup 20 --schedule cosine --clip-norm 1 --label-smoothing 0.1 --mixup 0.2 \
    --augment crop -o fine.safetensors --json -q >train.json
bang average pre.safetensors fine.safetensors -o bang.safetensors -q
checkpoint linear bang.safetensors pre.safetensors 0.5 fine.safetensors 0.5
for model in pre fine bang; do
    accuracy $model.npy --model $model.safetensors --data test --labels y.npy >$model.id
    accuracy $model.ood.npy --model $model.safetensors --data shifted >$model.ood
done 2>notes
sort -u notes
holds 'fine-tuning helps where it was fine-tuned' "$(cat fine.id)" '>' 0.8
holds 'and beats the zero-shot model there' "$(cat fine.id)" '>' "$(cat pre.id)"
sed 's/.*"val":\([^}]*\).*/\1/' train.json | cmp - fine.id && echo 'accuracy as bang train said'
accuracy ose.npy --model pre.safetensors --model fine.safetensors --data test -q >ose.id
vit mean expected.npy pre.npy 0.5 fine.npy 0.5
vit compare ose.npy expected.npy 1e-5
holds 'the ensemble keeps most of it' "$(cat ose.id)" '>' "$(cat pre.id)"
$python -c 'import numpy as n
y = n.load("y.npy")
for m in ("pre", "fine", "bang"): print(m, abs((n.load(m + ".npy").argmax(1) == y).mean() - float(open(m + ".id").read())) < 1e-12)'

# the subset of a map, in the order of its labels
cat >map.json <<'END'
{"name": "subset", "outputs": 4, "images": 24, "border": 1, "classes": [
    {"folder": "owl", "outputs": [2]}, {"folder": "cat", "outputs": [0]}]}
END
run predict --model fine.safetensors --data shifted --map map.json -o map.npy --labels map.y.npy |
    sed 's/[0-9.]* %/A %/'
$python -c 'import numpy as n; print(n.load("map.npy").shape, n.load("map.y.npy").tolist())'
accuracy sub.npy --model bang.safetensors --data test --map map.json >sub.id
accuracy both.npy --model pre.safetensors --model fine.safetensors --data test --map map.json >both.id
holds 'fewer classes are easier' "$(cat sub.id)" '>=' "$(cat bang.id)"
