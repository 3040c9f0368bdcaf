# Maps of transformers: against numpy, the sheet, the page, which pictures and which class.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
saliency() { $python "$here/../saliency_reference.py" "$@"; }
hide() { sed -e 's/[0-9][0-9]*[.][0-9][0-9.e-]*/#/g' -e 's/([0-3], [0-3])/(r, c)/' -e 's/  */ /g'; }
size() { od -An -v -tu1 -j16 -N8 "$1" | awk '{ print $3 * 256 + $4 " x " $7 * 256 + $8 }'; }
chosen() { bang explain rollout --model one.safetensors -o x.png --json "$@" | grep -o '"index":[0-9]*' | tr '\n' ' '; echo; }
pictures photos classes=cat,dog,fox count=4 width=16 height=16
vit make one.safetensors image=16 classes=3 names=cat,dog,fox seed=1
vit make two.safetensors image=16 classes=3 names=cat,dog,fox seed=2
vit make three.safetensors image=16 classes=3 names=cat,dog,fox seed=3
set -- --model one.safetensors --model two.safetensors

# each kind as numpy has it
pictures small classes=cat,dog,fox count=2 width=8 height=8
vit make small1.safetensors image=8 width=8 hidden=12 classes=3 names=cat,dog,fox seed=1
vit make small2.safetensors image=8 width=8 hidden=12 classes=3 names=cat,dog,fox seed=2
small() { kind=$1 && shift && bang explain "$kind" --model small1.safetensors --model small2.safetensors "$@" -q; }
for kind in gradcam hirescam gradients rollout; do
    small "$kind" small/cat/0000.png small/fox/0001.png -o "$kind.csv"
    saliency "$kind" "$kind.csv" 2e-3
done
head -1 gradcam.csv
cut -d, -f1-4,8-9 gradcam.csv | sed -n '2,4p;6p;10p'
wc -l <gradcam.csv
small gradcam --class label --data small --count 2 -o label.csv
saliency gradcam label.csv 2e-3
cut -d, -f3,5 label.csv | sort -u
small hirescam --class DOG small/fox/0001.png -o dog.csv
saliency hirescam dog.csv 2e-3
small hirescam --class 1 small/fox/0001.png -o number.csv
cmp dog.csv number.csv && echo 'a class by name or by number'

# the sheet, the same for any number of threads; a page with it
run explain gradcam "$@" --model three.safetensors --data photos --count 3 -o maps.png --html maps.html | hide
size maps.png
bang explain gradcam "$@" --model three.safetensors --data photos --count 3 -o again.png -q --threads 1
cmp maps.png again.png && echo same
grep -c 'data:image/png;base64' maps.html
grep -o 'What the models say\|How alike the maps are\|How many patches the maps spread over' maps.html | sort -u
run explain gradients "$@" --data photos --rows 2 -o few.png | hide
size few.png
run explain rollout --model one.safetensors photos/cat/0001.png --html only.html | hide
bang explain hirescam "$@" --data photos --count 2 -o j.png --json |
    sed -e 's/-\{0,1\}[0-9][0-9]*[.][0-9][0-9e.-]*/#/g'

# which pictures: of every class in turn, in order, some, those of a group
chosen --data photos --count 5
chosen --data photos --count 5 --by order
chosen --data photos --samples 7,2-4,2
chosen --data photos --count 100
for letters in TT TF FT FF; do
    bang explain gradcam "$@" --data photos --group "$letters" -o g.png --count 12 --json 2>/dev/null |
        $python -c '
import json, sys
text = sys.stdin.read()
out = json.loads(text) if text else {"pictures": []}
for p in out["pictures"]:
    letters = "".join("FT"[m["predicted"] == p["label"]] for m in p["models"])
    assert letters == sys.argv[1], (letters, p)
print(len(out["pictures"]))' "$letters"
done | awk '{ sum += $1 } END { print sum " pictures in the groups of two models" }'

# occlusion of transformers
run explain occlusion "$@" --data photos --grid 4x4 -o o.png | hide
size o.png
bang explain occlusion --model one.safetensors --data photos -o o.csv -q
tail -1 o.csv | cut -d, -f1-3

# pictures that cannot be read
cp -r photos broken
echo 'no picture' >broken/dog/0000.png
run explain gradcam --model one.safetensors --data broken -o b.png
run explain gradcam --model one.safetensors --data broken -o b.png --on-bad-image skip | hide

# refused, all at once
run explain
run explain gradcam --data photos --class dog --grid 3x3 --count 0 --samples 3,a --group XT --by size -o m.gif
run explain rollout "$@" --class cat --group FFT --samples 1 --data photos -o m.png --html m.png
run explain occlusion "$@" --class cat --html m.html --rows 3 --data photos -o m.png
run explain gradcam "$@" --class owl --samples 3,12-14 --data photos -o m.png
run explain gradcam "$@" --class label --group TF --by class photos/cat/0000.png -o m.png
run explain gradcam "$@" --class 3 photos/cat/0000.png -o m.png
run explain gradcam --model none --model nor.pt --data nowhere -o m.png
vit make other.safetensors image=8 patch=4 classes=3 seed=4
run explain occlusion --model one.safetensors --model other.safetensors --data photos -o m.png
run explain occlusion --model one.safetensors photos/cat/0000.png -o m.png
vit make bare.safetensors image=16 classes=0 seed=5
run explain gradcam --model bare.safetensors --data photos -o m.png
run explain rollout --model one.safetensors --model bare.safetensors --data photos -o m.png
run explain rollout --model bare.safetensors --model one.safetensors --data photos -o m.png
run explain rollout --model bare.safetensors --group T --data photos -o m.png
find . -name 'm.*' -o -name '*part*'
# another grid: maps side by side, not compared
run explain hirescam --model one.safetensors --model other.safetensors --data photos --count 2 -o two.png | hide
# a rollout is of no class: no head is needed
run explain rollout --model bare.safetensors --model bare.safetensors --data photos --count 2 -o bare.csv --html bare.html | hide
sed -n 2p bare.csv | cut -d, -f1-9
bang explain rollout --model bare.safetensors --data photos --count 1 -o bare.png --json | hide
grep -c 'What the models say' bare.html

# arrays without labels: no true class
mkdir arrays && $python -c 'import numpy as np
np.save("arrays/images.npy", np.random.default_rng(1).integers(0, 256, (3, 16, 16, 3)).astype("u1"))'
run explain hirescam --model one.safetensors --data arrays -o a.csv --html a.html | hide
sed -n 2p a.csv | cut -d, -f1-5
run explain hirescam --model one.safetensors --data arrays --class label -o m.png
run explain occlusion --model one.safetensors --data arrays -o m.png

# the page: the command and its choice, who is right, over how many maps a mean is
text() { $python -c 'import re, sys, html
print(html.unescape(re.sub("<[^>]*>", " ", open(sys.argv[1]).read())))' "$1" | tr -s ' \n' ' '; }
bang explain hirescam "$@" --data photos --group FF --class label --count 3 --rows 2 --seed 4 --html 'my page.html' -q
text 'my page.html' | grep -o "Command bang.*page.html' -q" | head -1
text 'my page.html' | grep -o 'Pictures [0-9]* of [0-9]* in group FF'
text 'my page.html' | grep -o '[✓✕] [a-z]*' | sort | uniq -c
text 'my page.html' | grep -c Overview
# a head of zeros gives maps of zeros
$python "$here/../balance_reference.py" scale zero.safetensors one.safetensors 0 head.
run explain gradcam --model zero.safetensors --model one.safetensors --model zero.safetensors --data photos --count 4 \
    --html zero.html -o zero.png 2>&1 | hide
run explain gradcam --model zero.safetensors --data photos --count 4 -q -o zero.png
text zero.html | grep -o 'mean over .* each)'
text zero.html | grep -o 'zero one 0 – –'
find . -name 'm.*' -o -name '*part*'
