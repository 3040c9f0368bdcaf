# Digits under shifts: folders, names, what is refused.
# shellcheck source=/dev/null disable=SC2154
. "$here/digits.inc"

run data make --help
run data make shift --kind s --seed 3 -o sketch
ls -A sketch
show sketch/manifest.json
run data make shift --kind s --seed 3 --threads 1 -o again --json
cmp sketch/images.npy again/images.npy && cmp sketch/manifest.json again/manifest.json && echo same
run data make shift --kind broad --count 7 -o broad -q
run data make shift --kind broad -o all
dd if=broad/images.npy bs=1 skip=128 of=a count=5488 2>/dev/null
dd if=all/images.npy bs=1 skip=128 of=b count=5488 2>/dev/null
cmp a b && echo the first are the same
run data make shift --kind id --split val -o val
cat ./*/images.npy ./*/labels.npy | cksum
run data preview shift:kind=s,seed=3 shift shift:kind=broad,split=test -o sheet.png --json
run train --data shift --hidden 0 --steps 2 -q -o line.safetensors
run predict --model line.safetensors --data shift:kind=v2,seed=3,count=12 -o out.npy --json |
    sed 's/"accuracy":.*"ensemble"/"ensemble"/' # the processor has a say in it

# refused
run data make shift -o x
run data make shift --kind z -p 0.5 --protocol paper --split all --count 0
run data make shift --kind r --split train -o x
run data make shift --kind id --split val --count 5 -o x
run data make singlecolor --kind r -o x
run data preview shift:kind=z,split=all,p=1 -o x.png
run data preview shift:kind=o,split=val -o x.png
ls
