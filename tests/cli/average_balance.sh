# Averages whose weights are found by confidence. balance_reference.py has the numbers.
# shellcheck source=/dev/null disable=SC2154,SC2086,SC2046
. "$here/average.inc"
balance() { $python "$here/../balance_reference.py" "$@"; }
pick() { $python -c 'import json, sys; r = json.load(sys.stdin); print(*(eval("r" + k) for k in sys.argv[1:]))' "$@"; }
# again REPORT A B: the average with the weights that were found has the same numbers
again() {
    command bang average "$2" "$3" $(balance options "$1" "$2") -q -o again.safetensors
    checkpoint same again.safetensors out.safetensors
}
$python - <<'END'
import os
import numpy as np


def make(folder, count, noise, seed):
    """A bright quarter, which is the class."""
    random = np.random.default_rng(seed)
    os.makedirs(folder)
    labels = np.arange(count) % 4
    x = random.normal(100, noise, (count, 12, 12))
    for i, k in enumerate(labels):
        x[i, k // 2 * 6:k // 2 * 6 + 6, k % 2 * 6:k % 2 * 6 + 6] += 60
    np.save(folder + "/images.npy", np.clip(x, 0, 255).astype("u1"))
    np.save(folder + "/labels.npy", labels)


make("train", 64, 20, 1)
make("id", 48, 40, 2)
make("far", 60, 90, 3)
make("more", 31, 120, 4)
END
vit make pre.safetensors image=12 channels=1 classes=4 seed=4
balance scale warm.safetensors pre.safetensors 3 head.
balance scale cold.safetensors pre.safetensors .5 head.
balance scale flat.safetensors pre.safetensors 0 head.

# a head three times as large: tau 3, alpha 1/4; the labels do not matter for it
run average pre.safetensors warm.safetensors --balance confidence --id id -o out.safetensors
bang average pre.safetensors warm.safetensors --balance confidence --id id -o out.safetensors --json >out.json
pick '["balance"]["tau"] - 3 < 1e-6' '["balance"]["inputs"]' '["balance"]["layers"]' <out.json
again out.json pre.safetensors warm.safetensors
run average pre.safetensors warm.safetensors --balance layer-confidence --id id -o out.safetensors
bang average pre.safetensors warm.safetensors --balance layer-confidence --id id -o out.safetensors --json >out.json
again out.json pre.safetensors warm.safetensors
# every layer has a temperature, and some have none
balance scale odd.safetensors flat.safetensors 2 blocks.1.
bang average pre.safetensors odd.safetensors --balance layer-confidence --id id -o out.safetensors --json |
    pick '["warnings"]'
# less confident, and so little that no temperature helps; the same model
run average pre.safetensors cold.safetensors --balance confidence --id id -o out.safetensors
run average pre.safetensors flat.safetensors --balance confidence --id id -o out.safetensors
run average pre.safetensors pre.safetensors --balance layer-confidence --id id -o out.safetensors
checkpoint same out.safetensors pre.safetensors

# a pair that was trained, on data of two sets without their labels; every number by numpy
new='--arch vit --width 16 --depth 2 --heads 2 --mlp-ratio 2 --threads 1'
bang train $new --data train --steps 30 -q -o a.safetensors
bang train --init a.safetensors --data train --steps 60 --lr 0.003 --threads 1 -q -o b.safetensors
for how in confidence layer-confidence; do
    bang average a.safetensors b.safetensors --balance $how --id id --unlabelled far --unlabelled more \
        -o out.safetensors --json >out.json
    balance check out.json 1 a.safetensors b.safetensors far,more
    again out.json a.safetensors b.safetensors
    for model in a b out; do bang predict --model $model.safetensors --data id --json | pick '["accuracy"]'; done |
        tr '\n' ' ' | sed 's/ $/\n/' >accuracies
    pick '["balance"]["accuracy"]["pre"]' '["balance"]["accuracy"]["fine"]' '["balance"]["accuracy"]["result"]' \
        <out.json | cmp - accuracies && echo "accuracies as bang predict has them"
    bang average a.safetensors b.safetensors --balance $how --id id --unlabelled far --unlabelled more \
        -o again.safetensors --threads 3 -q
    cmp out.safetensors again.safetensors && echo "the same bytes again"
done
# labels of --unlabelled are not looked at, nor need they fit
mkdir strange && cp far/images.npy strange && $python -c 'import numpy
numpy.save("strange/labels.npy", numpy.arange(60) * 7)'
bang average a.safetensors b.safetensors --balance confidence --id id --unlabelled far -q -o out.safetensors
bang average a.safetensors b.safetensors --balance confidence --id id --unlabelled strange -q -o again.safetensors
checkpoint same out.safetensors again.safetensors && echo "labels do not matter"
mkdir bare bare_id && cp far/images.npy bare && cp id/images.npy bare_id
bang average a.safetensors b.safetensors --balance confidence --id id --unlabelled bare -q -o again.safetensors
checkpoint same out.safetensors again.safetensors && echo "nor need there be any"
# without an ID set the weights are the same, and no accuracy is shown
for how in 'confidence --unlabelled strange' 'confidence --unlabelled bare' \
    'layer-confidence --unlabelled more --unlabelled far'; do
    # shellcheck disable=SC2086
    bang average a.safetensors b.safetensors --balance $how --id id -q -o out.safetensors
    # shellcheck disable=SC2086
    bang average a.safetensors b.safetensors --balance $how -o again.safetensors --json |
        pick '["warnings"]' '["balance"]["accuracy"]' '["balance"]["inputs"]' '["balance"]["id_inputs"]'
    checkpoint same out.safetensors again.safetensors && echo "no ID set needed"
done
run average a.safetensors b.safetensors --balance confidence --unlabelled strange -o out.safetensors
run average a.safetensors b.safetensors --balance layer-confidence --unlabelled far --count 9 -n -o none.safetensors |
    sed '/^blocks/d'
bang average a.safetensors b.safetensors --balance confidence --id bare_id -o again.safetensors --json |
    pick '["warnings"]' '["balance"]["accuracy"]'
# rules go before what was found
bang average a.safetensors b.safetensors --balance layer-confidence --id id --rule 'head.*=1' -q -o out.safetensors
$python - <<'END'
import read_checkpoint as r
out, b = (r.read(n + ".safetensors") for n in ("out", "b"))
print(sorted(n for n in b if out[n] == b[n]))
END
# and what nothing is written with is not shown as if it were
run average a.safetensors b.safetensors --balance layer-confidence --id id --rule 'head.*=1' --rule '*.0.*.bias=.5' \
    -o out.safetensors
bang average a.safetensors b.safetensors --balance layer-confidence --id id --rule 'head.*=1' -o out.safetensors --json |
    $python -c 'import json, sys
b = json.load(sys.stdin)["balance"]
print(b["alpha"], b["scale"], b["tensors"], b["by_rule"])
print([(l["name"], l["tensors"], l["by_rule"], l["tau"] > 0) for l in b["layers"] if l["alpha"] is None])'
recipe() { $python -c 'import json, read_checkpoint as r
recipe = json.loads(r.read_file("out.safetensors")[1]["bang"])
print(*("{}: {}".format(k, recipe.get(k)) for k in ("scale", "measured")), sep="\n")
print(*recipe.get("scales", {}))
print(*(x.get("layer") or x["match"] for x in recipe.get("rules", [])))'; }
recipe
bang average a.safetensors b.safetensors --balance confidence --id id --rule '*bias=1' -o out.safetensors --json |
    pick '["balance"]["alpha"] > 0' '["balance"]["tensors"]' '["balance"]["by_rule"]'
bang average a.safetensors b.safetensors --balance confidence --id ./id/ --unlabelled more --unlabelled "$PWD/far" \
    --count 7 --seed 5 --crop hf --rule '*=.5' -o out.safetensors --json |
    pick '["balance"]["alpha"]' '["balance"]["scale"]' '["balance"]["by_rule"]'
recipe

# so many of them, evenly; which depends on the seed alone
count() {
    bang average a.safetensors b.safetensors --balance confidence --id id --unlabelled far --unlabelled more \
        -q -o "$1" --count "$2" --seed "$3"
}
for n in 90 91 92 0; do count $n.safetensors $n 1; done
cmp 91.safetensors 92.safetensors && cmp 91.safetensors 0.safetensors && echo all
count 20.safetensors 20 1
count again.safetensors 20 1
count other.safetensors 20 2
cmp 20.safetensors again.safetensors && echo same
cmp -s 20.safetensors other.safetensors || echo other
bang average a.safetensors b.safetensors --balance layer-confidence --id id --unlabelled far --unlabelled more \
    --count 30 -o out.safetensors --json | pick '["balance"]["inputs"]' '["balance"]["id_inputs"]'
run average a.safetensors b.safetensors --balance layer-confidence --id id --unlabelled far --count 30 -n -o none.safetensors |
    sed '/^blocks/d'
run average a.safetensors b.safetensors --balance confidence --id id -n -o none.safetensors --json
ls none* 2>/dev/null
# how it was made
$python - <<'END'
import json
import read_checkpoint as r
for name in ("20", "out"):
    recipe = json.loads(r.read_file(name + ".safetensors")[1]["bang"])
    print(*recipe)
    print(recipe["balance"], recipe.get("scales", {}).keys(), [x.get("layer") for x in recipe.get("rules", [])])
    if "scale" in recipe:
        print(abs(recipe["scale"] - 2 * recipe["weights"][1]) < 1e-15, recipe["scale"] == 2 / (1 + recipe["tau"]))
    else:
        print(all(recipe["scales"][x["layer"]] == 2 * x["weights"][1] for x in recipe["rules"]), recipe["weights"])
END

# pictures in class folders, by the names of the head; one of them broken
pictures photos classes=cat,dog,fox count=6
pictures sketches classes=a,b count=5 seed=9
vit make p.safetensors image=16 names=fox,dog,cat seed=5
balance scale q.safetensors p.safetensors 2 head. blocks.0.
bang average p.safetensors q.safetensors --balance layer-confidence --id photos --unlabelled sketches -o out.safetensors --json >out.json
balance check out.json 2 p.safetensors q.safetensors sketches
bang predict --model out.safetensors --data photos --json | pick '["accuracy"]' >accuracy
pick '["balance"]["accuracy"]["result"]' <out.json | cmp - accuracy && echo "accuracy as bang predict has it"
echo broken >sketches/b/0002.png
run average p.safetensors q.safetensors --balance confidence --id photos --unlabelled sketches -o out.safetensors
bang average p.safetensors q.safetensors --balance confidence --id photos --unlabelled sketches --on-bad-image skip \
    -o out.safetensors --json | pick '["warnings"]' '["balance"]["inputs"]'
run average p.safetensors q.safetensors --balance confidence --id sketches --unlabelled photos --on-bad-image skip \
    -n -o out.safetensors 2>&1 | head -n 4
# at another size; a CLIP with its text tower, a head of its own file, in both of its layouts
bang average p.safetensors q.safetensors --balance layer-confidence --id photos --image-size 24 -o out.safetensors --json >out.json
balance check out.json 3 p.safetensors q.safetensors photos --image-size 24
vit head head.safetensors classes=3 features=8 seed=7
for layout in openai hf; do
    clip c.safetensors width=16 patch=4 grid=4 embedding=8 scale=0.3 seed=3 layout=$layout
    balance scale d.safetensors c.safetensors 1.5 visual. visual_projection. vision_model. transformer. text_model.
    bang average c.safetensors d.safetensors --balance layer-confidence --id photos --heads 2 --head head.safetensors \
        -o out.safetensors --json >out.json
    balance check out.json 3 c.safetensors d.safetensors photos --heads 2 --head head.safetensors
    again out.json c.safetensors d.safetensors
    $python -c 'import json
for l in json.load(open("out.json"))["balance"]["layers"]:
    if not l["measured"]:
        print("not measured:", *(l[k] for k in ("name", "confidence", "without", "tau", "alpha")))'
done
bang average c.safetensors d.safetensors --balance layer-confidence --id photos --heads 2 --head head.safetensors \
    --rule 'text_projection.*=1' -o out.safetensors | sed -n '/measured)/p'
# without a text tower in the second model, what the first has of it is dropped
$python - <<'END'
import read_checkpoint as r
tensors, metadata = r.read_file("d.safetensors")
r.write("e.safetensors", {n: t for n, t in tensors.items() if not n.startswith(("text_", "logit_"))}, metadata)
END
run average c.safetensors e.safetensors --balance layer-confidence --id photos --heads 2 --head head.safetensors \
    --on-missing drop -o out.safetensors
recipe

# perceptrons
bang train --data train --hidden 8 --steps 40 --threads 1 -q -o m.safetensors
balance scale n.safetensors m.safetensors 2 2.
for how in confidence layer-confidence; do
    bang average m.safetensors n.safetensors --balance $how --id id --unlabelled far -o out.safetensors --json >out.json
    balance check out.json 1 m.safetensors n.safetensors far
    again out.json m.safetensors n.safetensors
done

# what is refused, all of it at once and before any work
run average a.safetensors b.safetensors --balance confident -o out.safetensors
run average a.safetensors b.safetensors --balance confidence -o out.safetensors
run average a.safetensors b.safetensors pre.safetensors --balance layer-confidence --alpha .3,.5 --target 1 --count -7 \
    --method slerp --score true --gelu relu --mean x -o out.safetensors
run average a.safetensors b.safetensors --balance confidence --weights 1,1 --id none -o out.safetensors
run average a.safetensors b.safetensors --balance confidence --id id --count -1 -o out.safetensors
run average a.safetensors b.safetensors --count -1 -o out.safetensors
run average a.safetensors --balance confidence --id id -o out.safetensors
run average a.safetensors b.safetensors --balance norm --id id --unlabelled far --count 3 --head h --image-size 3 --heads 1 \
    --mean 1 --std 1 --crop hf --gelu exact --on-bad-image skip -o out.safetensors
run average a.safetensors b.safetensors --balance confidence --id no/where --unlabelled no/thing --unlabelled far -o out.safetensors
run average a.safetensors b.safetensors --balance confidence --id id --unlabelled no/where --unlabelled no/thing -o out.safetensors
run average a.safetensors m.safetensors --balance confidence --id id -o out.safetensors
run average c.safetensors d.safetensors --balance confidence --id photos --heads 2 -o out.safetensors
run average pre.safetensors warm.safetensors --balance confidence --id photos -o out.safetensors
run average m.safetensors n.safetensors --balance confidence --id photos --head head.safetensors -o out.safetensors
mkdir wide && $python -c 'import numpy
numpy.save("wide/images.npy", numpy.zeros((5, 7, 7), "u1"))
numpy.save("wide/labels.npy", numpy.arange(5) % 2)'
run average m.safetensors n.safetensors --balance confidence --id wide -o out.safetensors
run average m.safetensors n.safetensors --balance confidence --unlabelled wide --unlabelled photos -o out.safetensors
run average a.safetensors b.safetensors --balance confidence --unlabelled no/where --unlabelled no/thing -o out.safetensors
run average m.safetensors n.safetensors --balance confidence --id id --unlabelled wide --unlabelled photos -o out.safetensors
run average a.safetensors b.safetensors --balance confidence --id id -o missing/out.safetensors
run average m.safetensors n.safetensors --balance confidence --id wide --unlabelled no/where --unlabelled photos \
    --rule 'nothing=1' -o missing/out.safetensors
cp -r id "$(printf 'id\377')"
run average a.safetensors b.safetensors --balance confidence --id "$(printf 'id\377')" -o none.safetensors | sed 1d
$python - <<'END'
import json
import numpy as np
import read_checkpoint as r

tensors, metadata = r.read_file("a.safetensors")
r.write("net.safetensors", {"conv.weight": np.zeros((2, 2), "f4")})
spoiled = dict(tensors)
spoiled["head.bias"] = "F32", (4,), np.array([1, np.nan, 2, 3], "<f4").tobytes()
r.write("spoiled.safetensors", spoiled, metadata)
said = json.loads(metadata["bang.vit"])
said["mean"] = [0.25]
r.write("shifted.safetensors", tensors, dict(metadata, **{"bang.vit": json.dumps(said)}))
END
vit make single.safetensors image=12 channels=1 classes=1 seed=4
mkdir one && $python -c 'import numpy
numpy.save("one/images.npy", numpy.load("id/images.npy"))
numpy.save("one/labels.npy", numpy.zeros(48, int))'
run average net.safetensors net.safetensors --balance confidence --id id -o out.safetensors
run average single.safetensors single.safetensors --balance confidence --id one -o out.safetensors
run average a.safetensors spoiled.safetensors --balance confidence --id id -o none.safetensors
run average a.safetensors spoiled.safetensors --balance layer-confidence --id id -o none.safetensors
run average spoiled.safetensors a.safetensors --balance confidence --id id -o none.safetensors
balance scale huge.safetensors pre.safetensors 8e37 head.
run average pre.safetensors huge.safetensors --balance confidence --id id -o none.safetensors
run average a.safetensors shifted.safetensors --balance confidence --id id -o none.safetensors
run average a.safetensors shifted.safetensors --balance confidence --id id --mean 0.5 -q -o out.safetensors
ls none* .bang* 2>/dev/null
true
