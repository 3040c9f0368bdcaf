# Prediction by a map of outputs to folders: which pictures, which scores, which labels.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
rows() { $python -c 'import sys, numpy; print(numpy.load(sys.argv[1]).tolist())' "$1"; }
pictures photos classes=cat,dog,fox,owl count=2 width=20 height=20
vit make vit.safetensors classes=5 seed=1
vit make other.safetensors classes=5 seed=2
map() { # IMAGES BORDER OUTPUTS
    printf '{"name": "animals", "outputs": %s, "images": %s, "border": %s,
        "classes": [{"folder": "owl", "outputs": [4]}, {"folder": "cat", "outputs": [0, 2]},
                    {"folder": "fox", "outputs": [3]}]}\n' "$3" "$1" "$2"
}
map 6 2 5 >map.json
set -- photos/cat/*.png photos/fox/*.png photos/owl/*.png

run predict --model vit.safetensors --data photos --map map.json -o scores.npy --labels y.npy
rows y.npy
vit predict logits.npy vit.safetensors "$@" border=2
vit map expected.npy logits.npy 4,0+2,3
vit compare scores.npy expected.npy 1e-4
bang predict --model vit.safetensors --data photos --map map.json -o scores.npy --json |
    sed 's/"accuracy":[^,]*,"models":[^,]*,//'
$python - <<'END'
import numpy as n, subprocess, json
said = json.loads(subprocess.run(["bang", "predict", "--model", "vit.safetensors", "--data", "photos",
    "--map", "map.json", "-o", "s.npy", "--json"], stdout=subprocess.PIPE).stdout)["accuracy"]
print("accuracy as in the files", (n.load("s.npy").argmax(1) == n.load("y.npy")).mean() == said)
END

# an ensemble is one of the scores: as of the files of each
bang predict --model other.safetensors --data photos --map map.json -o other.npy -q
bang predict --model vit.safetensors --model other.safetensors --data photos --map map.json -o both.npy -q
vit mean expected.npy scores.npy 0.5 other.npy 0.5
vit compare both.npy expected.npy 1e-6
bang predict --model vit.safetensors --data photos --map map.json -o p.npy --ensemble probabilities -q
$python -c 'import numpy as n; print(abs(n.load("p.npy").sum(1) - 1).max() < 1e-6)'

# what is not as the map has it
map 7 0 5 >seven.json
run predict --model vit.safetensors --data photos --map seven.json -o scores.npy
rm -r photos/fox
run predict --model vit.safetensors --data photos --map map.json -o scores.npy
run predict --model vit.safetensors photos/dog/0000.png --map map.json
map 6 2 1000 >thousand.json
run predict --model vit.safetensors --data photos --map thousand.json -o scores.npy
echo '{"name": "animals"}' >bad.json
run predict --model vit.safetensors --data photos --map bad.json -o scores.npy
