# Names that are no UTF-8 or long, classes in order, sheets too large, pictures that change.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
hide() { sed -e 's/[0-9][0-9]*[.][0-9][0-9.e-]*/#/g' -e 's/([0-3], [0-3])/(r, c)/' -e 's/  */ /g'; }
fields() { $python -c '
import json, sys
out = json.load(sys.stdin)
for key in sys.argv[1:]:
    print(key, json.dumps(eval(key, out), ensure_ascii=True))' "$@"; }
pictures photos classes=cat,dog,fox count=2 width=16 height=16
vit make one.safetensors image=16 classes=3 names=cat,dog,fox seed=1

# a byte that is no UTF-8, in the names of a picture, a model and what is written
odd=$(printf 'bad\377')
cp photos/cat/0000.png "$odd.png"
cp one.safetensors "$odd.safetensors"
bang explain rollout --model one.safetensors --model "$odd.safetensors" "$odd.png" -o "$odd.out.png" --html "$odd.html" --json |
    fields 'method' 'of' 'images' '[p["file"] for p in pictures]' '[m["name"] for m in models]' 'len(pairs)' 'output' 'html'
grep -c 'What the models say' "$odd.html"
bang predict --model one.safetensors "$odd.png" --json | fields '[t["file"] for t in top]'

# a long name of two bytes a letter, which no length of a heading cuts in half
long=$(printf 'é%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60)
for name in "$long" "x$long"; do
    cp photos/cat/0000.png "$name.png"
    cp one.safetensors "$name.safetensors"
    run explain gradcam --model "$name.safetensors" "$name.png" --html long.html -q | wc -l
    LC_ALL=C grep -c 'What the models say' long.html
    $python -c 'open("long.html", "rb").read().decode()'
done

# what could steer a terminal is not printed
run explain rollout --model one.safetensors photos/cat/0000.png -o "$(printf 'a\033[2Jb.png')" | hide | tail -1
run explain occlusion --model one.safetensors --data photos --grid 2x2 -o "$(printf 'a\033[2Jb.png')" | hide | tail -1

# classes by order: the name that is shown can be given
vit make plain.safetensors image=16 classes=3 seed=1
bang explain gradcam --model plain.safetensors --data photos --class dog -o a.csv -q
bang explain gradcam --model plain.safetensors --data photos --class 1 -o b.csv -q
cmp a.csv b.csv && echo 'by name as by number'
cut -d, -f5 a.csv | sort -u
run explain gradcam --model plain.safetensors --data photos --class owl -o a.csv

# a sheet that cannot be drawn is refused before the work
pictures many classes=cat,dog count=100 width=16 height=16
run explain rollout --model one.safetensors --data many --count 200 --rows 200 -o big.png --html big.html
run explain rollout --model one.safetensors --data many --count 200 --rows 200 -o big.csv -q
wc -l <big.csv
rm big.csv
find . -name 'big*'

# occlusion takes pictures as maps do: in turn of every class, or as one says
occluded() { bang explain occlusion --model one.safetensors --data photos --grid 2x2 "$@" -o o.csv -q; }
occluded --count 3 && cp o.csv turn.csv
occluded --samples 0,2,4 && cmp o.csv turn.csv && echo 'one of each class'
occluded --count 3 --by order && cp o.csv order.csv
occluded --samples 0-2 && cmp o.csv order.csv && echo 'the first ones'
cmp -s turn.csv order.csv || echo 'which are others'
run explain occlusion --model one.safetensors --data photos --samples 7 --by size -o m.png
run explain occlusion --model one.safetensors --data photos --samples 7 -o m.png
run explain occlusion --model one.safetensors --data photos --group T -o m.png

# in pieces as at once: 200 pictures are the mean of their two halves
halves() { bang explain occlusion --model one.safetensors --data many --grid 2x2 --samples "$1" -o "$2" -q; }
halves 0-199 all.csv
halves 0-99 first.csv
halves 100-199 second.csv
$python -c '
import csv
rows = [[(float(r["change"]), float(r["accuracy_without"])) for r in csv.DictReader(open(name))]
        for name in ("all.csv", "first.csv", "second.csv")]
for whole, a, b in zip(*rows):
    for k in (0, 1):
        assert abs(whole[k] - (a[k] + b[k]) / 2) <= 1e-12 * max(1, abs(whole[k])), (whole, a, b)
print(len(rows[0]), "cells")'

# occlusion says what it leaves out
echo 'no picture' >photos/dog/0000.png
run explain occlusion --model one.safetensors --data photos --grid 2x2 -o o.png
run explain occlusion --model one.safetensors --data photos --grid 2x2 -o o.png --on-bad-image skip | hide
bang explain occlusion --model one.safetensors --data photos --grid 2x2 -o o.png --on-bad-image skip --json -q |
    fields method images chosen_from skipped
for file in photos/*/*.png; do echo 'no picture' >"$file"; done
run explain occlusion --model one.safetensors --data photos --grid 2x2 -o o.png --on-bad-image skip
