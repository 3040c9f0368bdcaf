# Prediction: what train reported, files that fit together, ensembles.
# shellcheck source=/dev/null disable=SC2154
. "$here/digits.inc"
bang data make multicolor --split test -p 0.7 -o shifted -q
accuracy() { sed 's/.*"accuracy":\([^,]*\),.*/\1/'; }
bang train --data multicolor --val shifted --epochs 20 --batch 20 -o a.safetensors --json |
    sed 's/.*"val":\([^}]*\).*/\1/' >reported
bang train --data multicolor --epochs 20 --batch 20 --seed 2 -q -o b.safetensors
bang train --data mnist --epochs 0 -q -o narrow.safetensors
bang train --data multicolor --hidden 0 --epochs 0 -q -o linear.safetensors

run predict --help
run predict --model a.safetensors --data multicolor:split=test -o p0.npy
run predict --model a.safetensors --model b.safetensors --data multicolor -o both.npy
run predict --model a.safetensors --model b.safetensors --data multicolor -o both.npy --ensemble probabilities --json
run predict --model a.safetensors --data multicolor -q -o a.npy
run predict --model a.safetensors --data multicolor --threads 1 -q -o again.npy
cmp a.npy again.npy && echo same

# what train said, on data that it did not see
bang predict --model a.safetensors --data shifted -o a.npy --labels y.npy --json | accuracy >predicted
cmp reported predicted && echo accuracy as reported
cmp y.npy shifted/labels.npy && echo labels as in the folder
head -c 128 a.npy | tail -c +11 | tr -s ' '
od -An -v -tf4 -w40 -j128 a.npy | awk '
    { best = 1; for (i = 2; i <= NF; i++) if ($i + 0 > $best + 0) best = i; print best - 1 }' >guess
od -An -v -td8 -w8 -j128 y.npy | paste - guess |
    awk -v said="$(cat predicted)" '{ right += $1 == $2 } END { print (right / NR - said < 1e-9 && said - right / NR < 1e-9 ? "accuracy as in the files" : "other") }'

# a model with itself is the model
bang predict --model a.safetensors --model a.safetensors --data shifted -o twice.npy -q
bang predict --model a.safetensors --model a.safetensors --model a.safetensors --data shifted -o thrice.npy -q
cmp a.npy twice.npy && cmp a.npy thrice.npy && echo same as alone

# the mean of two, and probabilities
bang predict --model b.safetensors --data shifted -o b.npy -q
bang predict --model a.safetensors --model b.safetensors --data shifted -o mean.npy -q
for file in a b mean; do od -An -v -tf4 -w4 -j128 $file.npy >$file.text; done
paste a.text b.text mean.text |
    awk '{ d = ($1 + $2) / 2 - $3; if (d < 0) d = -d; if (d > most) most = d } END { print NR, most < 1e-5 ? "means" : most }'
bang predict --model a.safetensors --model b.safetensors --data shifted -o p.npy --ensemble probabilities -q
od -An -v -tf4 -w40 -j128 p.npy |
    awk '{ s = 0; for (i = 1; i <= NF; i++) s += $i; if (s < 0.99999 || s > 1.00001) bad++ } END { print NR, bad + 0 " rows without sum 1" }'
bang predict --model a.safetensors --activation tanh --data shifted -o tanh.npy -q
cmp -s a.npy tanh.npy || echo another activation, other outputs

# refused
run predict
run predict --model none --model ten --data shifted -o p.npy
run predict --model ten --data shifted -o p.npy
run predict --model a.safetensors --data shifted -o missing/p.npy --labels missing/y.npy --ensemble votes --activation silu extra
run predict --model a.safetensors --data shifted -o p.npy --labels p.npy
run predict --model a.safetensors --model narrow.safetensors --data shifted -o p.npy
run predict --model narrow.safetensors --data nowhere -o p.npy
mkdir few
cp shifted/images.npy few
tr '\11' '\14' <shifted/labels.npy >few/labels.npy
run predict --model linear.safetensors --data few -o p.npy

# without labels there is no accuracy, and nothing to write them from
mkdir bare
cp shifted/images.npy bare
run predict --model a.safetensors --data bare -o bare.npy
cmp bare.npy a.npy && echo the same outputs
run predict --model a.safetensors --data bare -o p.npy --labels y.npy
run predict --model a.safetensors --data bare
