# Prediction on pictures: against numpy, ensembles of ViT and CLIP, classes by name and by
# order, pictures one by one, pictures that cannot be read.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
field() { sed "s/.*\"$1\":\([^,}]*\)[,}].*/\1/"; }
rows() { $python -c 'import sys, numpy; print(numpy.load(sys.argv[1]).tolist())' "$1"; }
pictures photos classes=cat,dog,fox count=3 width=16 height=16
pictures wide classes=cat,dog,fox count=1 width=40 height=23 seed=2
vit make vit.safetensors image=16 classes=3 seed=1
vit make small.safetensors image=8 patch=4 classes=3 heads=4 seed=2
clip clip.safetensors width=16 patch=4 grid=4 embedding=8 scale=0.3 seed=3
vit head head.safetensors classes=3 features=8 seed=4
set -- photos/*/*.png

# logits and features as numpy computes them
run predict --model vit.safetensors --data photos -o vit.npy --labels y.npy
vit predict expected.npy vit.safetensors "$@"
vit compare vit.npy expected.npy 1e-4
rows y.npy
run predict --model clip.safetensors --heads 2 --head head.safetensors --data photos -o clip.npy --json
vit predict expected.npy clip.safetensors "$@" heads=2 head=head.safetensors
vit compare clip.npy expected.npy 1e-4
bang predict --model clip.safetensors --heads 2 --gelu exact --head head.safetensors --data photos -o exact.npy -q
vit predict expected.npy clip.safetensors "$@" heads=2 gelu=exact head=head.safetensors
vit compare exact.npy expected.npy 1e-4
run predict --model clip.safetensors --heads 2 --data photos --features -o features.npy
vit predict expected.npy clip.safetensors "$@" heads=2 features=1
vit compare features.npy expected.npy 1e-5

# no matter how many threads, how large a batch
for how in '--threads 1' '--threads 3 --batch 2' '--batch 1'; do
    # shellcheck disable=SC2086
    bang predict --model vit.safetensors --data photos -o again.npy -q $how
    cmp vit.npy again.npy && echo "same with $how"
done

# an ensemble, each at its own size and with its own mean; small sees pictures that are shrunk
bang predict --model small.safetensors --data photos -o small.npy -q
run predict --model vit.safetensors --model clip.safetensors --head head.safetensors \
    --model small.safetensors --heads 2 --data photos -o all.npy --weights 0.5,0.25,0.25
bang predict --model small.safetensors --heads 2 --data photos -o small.npy -q
vit mean expected.npy vit.npy 0.5 clip.npy 0.25 small.npy 0.25
vit compare all.npy expected.npy 1e-5
bang predict --model vit.safetensors --model vit.safetensors --data photos -o twice.npy -q
cmp vit.npy twice.npy && echo 'a model with itself is the model'

# folders by the head's names; else in their order; else no accuracy
vit make named.safetensors classes=4 names=fox,owl,dog,cat seed=5
run predict --model named.safetensors --data photos -o n.npy --labels y.npy
rows y.npy
bang predict --model named.safetensors --data photos -o n.npy --json | field matched
vit make partly.safetensors classes=3 names=cat,hound,fox seed=5
run predict --model partly.safetensors --data photos -o n.npy --labels y.npy
rows y.npy
# one is at the place of another: no order is guessed
vit make swapped.safetensors classes=3 names=fox,hound,cat seed=5
run predict --model swapped.safetensors --data photos -o n.npy --labels y.npy
bang predict --model swapped.safetensors --data photos -o n.npy --json 2>/dev/null | field matched
run predict --model swapped.safetensors --data photos
vit make fewer.safetensors classes=5 names=owl,cow,fox,hen,pig seed=5
run predict --model fewer.safetensors --data photos -o n.npy
# case, '_', '-' and ' ' aside, unless that is not one name
mkdir written two
cp -r photos/cat 'written/Big_cat'
cp -r photos/dog written/hot-dog
cp -r photos/fox written/fox
vit make written.safetensors classes=3 names='hot dog,FOX,big cat' seed=5
run predict --model written.safetensors --data written --labels y.npy
rows y.npy
vit make written.safetensors classes=4 names='hot dog,Fox,FOX,big cat' seed=5
run predict --model written.safetensors --data written -o n.npy
vit make written.safetensors classes=4 names='hot dog,Fox,fox,big cat' seed=5
bang predict --model written.safetensors --data written --json | field matched
cp -r photos/cat 'two/big-cat'
cp -r photos/dog 'two/big cat'
cp -r photos/fox 'two/Big Cat'
vit make written.safetensors classes=4 names='big cat,a,b,c' seed=5
run predict --model written.safetensors --data two -o n.npy
vit make more.safetensors classes=5 seed=5
run predict --model more.safetensors --data photos -o n.npy --labels y.npy
rows y.npy
bang predict --model more.safetensors --data photos -o n.npy --json
mkdir folder
cp vit.safetensors folder/model.safetensors
echo '{"id2label": {"1": "dog", "0": "fox", "2": "cat"}}' >folder/config.json
run predict --model folder photos/cat/0000.png
echo '{"id2label": {"1": "LABEL_1", "0": "LABEL_0", "2": "LABEL_2"}}' >folder/config.json
bang predict --model folder --data photos -o n.npy --json | field matched
echo '{"label_names": ["fox", "owl"]}' >folder/config.json
bang predict --model folder --data photos -o n.npy --json | field matched
printf 'dog\tthe hound\ncat\tthe cat\nfox\tthe fox\n' >names.txt
run predict --model vit.safetensors --data photos -o n.npy --labels y.npy --classes names.txt
rows y.npy
run predict --model vit.safetensors photos/cat/0000.png --classes names.txt
printf 'dog\nwolf\n\nfox\tA\nfox\tB\n' >names.txt
run predict --model vit.safetensors --data photos -o n.npy --classes names.txt
printf 'dog\nwolf\nfox\nfox\n' >names.txt
run predict --model vit.safetensors --data photos -o n.npy --classes names.txt
run predict --model more.safetensors --model vit.safetensors --data photos -o n.npy --classes names.txt
vit make turned.safetensors classes=4 names=cat,dog,owl,fox seed=6
run predict --model named.safetensors --model turned.safetensors --data photos -o n.npy

# a CSV, with and without labels
printf 'path,label\r\nphotos/cat/0000.png,1\r\nphotos/dog/0000.png,0\r\n' >some.csv
run predict --model vit.safetensors --data some.csv -o c.npy --labels y.npy
rows y.npy
printf 'file\nphotos/cat/0000.png\nphotos/dog/0000.png\n' >bare.csv
run predict --model vit.safetensors --data bare.csv -o b.npy
cmp b.npy c.npy && echo same
run predict --model vit.safetensors --data bare.csv -o b.npy --labels y.npy

# the accuracy alone; without labels there is nothing to show
run predict --model vit.safetensors --data photos
run predict --model vit.safetensors --data photos -q
run predict --model vit.safetensors --data photos --json
run predict --model vit.safetensors --data bare.csv
run predict --model more.safetensors --data photos

# pictures one by one
run predict --model named.safetensors photos/cat/0000.png wide/dog/0000.png
run predict --model vit.safetensors --data photos/fox/0001.png --json | sed 's/\(0[.][0-9]\{4\}\)[0-9]*/\1/g'
run predict --model vit.safetensors --data photos/fox/0001.png photos/dog/0002.png -q -o two.npy
vit compare two.npy two.npy 0
run predict --model vit.safetensors photos/fox/0001.png -q
run predict --model vit.safetensors photos/fox/0001.png --features -o one.npy
run predict --model vit.safetensors photos/fox/0001.png --features
run predict --model vit.safetensors --model named.safetensors photos/fox/0001.png

# another size, mean and crop
bang predict --model vit.safetensors --data wide -o wide.npy -q
bang predict --model vit.safetensors --data wide -o hf.npy -q --crop hf
cmp -s wide.npy hf.npy || echo 'another crop, other outputs'
bang predict --model vit.safetensors --data wide -o mean.npy -q --mean 0.4,0.5,0.6 --std 0.25
cmp -s wide.npy mean.npy || echo 'another mean, other outputs'
run predict --model vit.safetensors --data wide -o large.npy --image-size 32
run predict --model vit.safetensors --data wide -o large.npy --image-size 30

# pictures that cannot be read
mkdir broken
cp -r photos/cat photos/dog photos/fox broken
echo 'no picture' >broken/dog/0001.png
head -c 100 photos/fox/0000.png >broken/fox/0000.png
run predict --model vit.safetensors --data broken -o left.npy
[ ! -e left.npy ] && echo 'nothing written'
run predict --model vit.safetensors --data broken -o left.npy --labels y.npy --on-bad-image skip
rows y.npy
$python -c 'import numpy as n; a, b = n.load("vit.npy"), n.load("left.npy"); print((n.delete(a, [4, 6], 0) == b).all())'
bang predict --model vit.safetensors --data broken -o left.npy --on-bad-image skip --json -q
run predict --model vit.safetensors --data broken --on-bad-image skip -o /dev/null
run predict --model vit.safetensors --on-bad-image skip broken/dog/0001.png

# what is not there
run predict --model vit.safetensors none.jpg
run predict --model vit.safetensors nothing
run predict --model vit.safetensors --data photos none.jpg
run predict --model vit.safetensors photos/cat/0000.png none.jpg nor_this
run predict --model none --model nor.pt --data nowhere -o p.npy
run predict --model vit.safetensors --head none --classes nor --map this --data photos -o p.npy
run predict --model vit.safetensors --model vit.safetensors --weights 0.3 --data photos

# refused
run predict --model clip.safetensors --heads 2 --data photos -o p.npy
run predict --model vit.safetensors --head head.safetensors --data photos -o p.npy
vit head slim.safetensors classes=100 features=1
run predict --model vit.safetensors --head slim.safetensors --data photos -o p.npy
run predict --model vit.safetensors --head none --data photos --data wide -o p.npy --map none \
    --mean 1,2 --std 0 --crop middle --gelu relu --on-bad-image ignore --weights 1,2 --batch -1 --heads -1
run predict --model vit.safetensors --model more.safetensors --data nowhere.csv -o p.npy
run predict --model vit.safetensors --model small.safetensors --data photos --features -o p.npy
run predict --model vit.safetensors --activation relu --data photos -o p.npy
run predict --model y.npy --data photos -o p.npy
# outputs and labels, or neither
run predict --model vit.safetensors --data photos -o half.npy --labels /dev/full
find . -name '*half*'

# perceptron and ViT in one ensemble
# shellcheck source=/dev/null
. "$here/digits.inc"
bang train --data multicolor --epochs 5 --batch 20 -q -o mlp.safetensors
vit make ten.safetensors image=42 patch=14 classes=10 seed=7
for name in mlp ten; do
    bang predict --model $name.safetensors --data multicolor:split=test -o $name.npy -q
done
run predict --model ten.safetensors --model mlp.safetensors --data multicolor:split=test -o both.npy --batch 7
vit mean expected.npy mlp.npy 0.5 ten.npy 0.5
vit compare both.npy expected.npy 1e-6
bang predict --model mlp.safetensors --model ten.safetensors --data multicolor:split=test -o again.npy -q
cmp both.npy again.npy && echo same
# a batch larger than the pieces that perceptrons alone are run in
mkdir -p many
$python -c 'import numpy as np
np.save("many/images.npy", (np.arange(20000 * 16) % 251).astype(np.uint8).reshape(20000, 4, 4))
np.save("many/labels.npy", np.arange(20000) % 3)'
bang train --data many --steps 2 -q -o few.safetensors
bang train --arch vit --data many --patch 2 --width 16 --depth 1 --heads 2 --steps 2 -q -o tiny.safetensors
for batch in 20000 100; do
    bang predict --model tiny.safetensors --model few.safetensors --data many --batch $batch -q -o many-$batch.npy
done
cmp many-20000.npy many-100.npy && echo same
run predict --model mlp.safetensors --model vit.safetensors --head head.safetensors --data photos -o p.npy
run predict --model mlp.safetensors --head head.safetensors --data multicolor --features -o p.npy
