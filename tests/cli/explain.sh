# Occlusion: the picture, the table, the numbers.
# shellcheck source=/dev/null disable=SC2154
. "$here/digits.inc"
bang train --data multicolor --epochs 20 --batch 20 -q -o a.safetensors
bang train --data multicolor --epochs 20 --batch 20 --seed 2 -q -o 'b,"2".safetensors'
bang train --data mnist --epochs 200 --lr 0.01 -q -o grey.safetensors
hide() { sed -e 's/[0-9][0-9]*[.][0-9.e-]*/#/g' -e 's/([0-5], [0-5])/(r, c)/' -e 's/  */ /g'; }
size() { od -An -v -tu1 -j16 -N8 "$1" | awk '{ print $3 * 256 + $4 " x " $7 * 256 + $8 }'; }

run explain --help
run explain occlusion --model a.safetensors --model 'b,"2".safetensors' --data multicolor -o two.png | hide
size two.png
bang explain occlusion --model a.safetensors --model 'b,"2".safetensors' --data multicolor -o again.png -q --threads 1
cmp two.png again.png && echo same
run explain occlusion --model a.safetensors --data multicolor --count 30 --grid 2x3 -o one.png | hide
size one.png
run explain occlusion --model grey.safetensors --data mnist --grid 7x7 -o one.png | hide

# patches carry the class far more than the digit does
run explain occlusion --model a.safetensors --model 'b,"2".safetensors' --data multicolor -o two.csv -q
cut -d, -f1-4 two.csv | sed 's/,[0-9]*[.][0-9e.-]*$//' | sed -n '1,3p;37,39p;74p;109p'
wc -l <two.csv
grep '^a' two.csv | awk -F, '
    { if ($2 >= 2 && $2 <= 3 && $3 >= 2 && $3 <= 3) { digit += $4 / 4 } else patch += $4 / 32 }
    $5 < 0 || $5 > 1 { print "no accuracy: " $0 }
    END { print (digit > 0 && patch > digit ? "patches matter more" : digit " " patch) }'
bang explain occlusion --model a.safetensors --data multicolor --count 50 -o one.csv --json |
    sed -e 's/[0-9]*[.][0-9][0-9e.-]*/#/g' -e 's/\[[#,]*\]/[..]/g'

# refused
run explain
run explain gradcam --model a.safetensors --data multicolor -o m.png
run explain saliency --model none --grid 6 --count 0 --data multicolor -o m.gif extra
run explain occlusion --model none --model nor.pt --data nowhere -o m.png
run explain occlusion --model a.safetensors --data multicolor --grid 5x6 -o m.png
run explain occlusion --model a.safetensors --data multicolor --grid 0x6 -o m.png
run explain occlusion --model a.safetensors --data multicolor -o missing/m.png
run explain occlusion --model a.safetensors --data mnist -o m.png
find . -name 'm.*' -o -name '*part*'
