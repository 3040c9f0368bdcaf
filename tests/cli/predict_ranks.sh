# Prediction as several ranks: the same bytes as one process writes and prints, whatever the
# network, the pieces and the pictures that cannot be read.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
# shellcheck source=/dev/null
. "$here/ranks.inc"
same() { # ARGUMENT...: as one process, and as several ranks
    rm -f ./*.npy
    bang predict "$@" -o o.npy --labels l.npy >1.out 2>1.err
    echo "exit $?"
    [ -e o.npy ] && mv o.npy o1 && mv l.npy l1
    for n in $numbers; do
        "$here/../rank/mpirun" "$n" bang predict "$@" -o o.npy --labels l.npy >n.out 2>n.all
        sed '/^-----/,/^-----/d' n.all >n.err # what mpirun says itself
        cmp n.out 1.out && cmp n.err 1.err && echo "$n ranks: the same words"
        if [ -e o.npy ]; then
            cmp o.npy o1 && cmp l.npy l1 && echo "$n ranks: the same bytes" && rm o.npy l.npy
        fi
    done
    cat 1.out 1.err
}
numbers='2 4'
pictures photos classes=cat,dog,fox count=9
vit make a.safetensors image=16 classes=3 seed=3
vit make b.safetensors image=24 classes=3 seed=4
clip clip.safetensors
same --model a.safetensors --data photos
same --model a.safetensors --model b.safetensors --data photos --ensemble probabilities --batch 2
same --model clip.safetensors --heads 2 --features --data photos
for picture in photos/cat/0001.png photos/dog/0000.png photos/dog/0001.png photos/fox/0008.png; do
    echo broken >$picture
done
same --model a.safetensors --model b.safetensors --data photos --on-bad-image skip --batch 3
same --model a.safetensors --data photos
ranks 3 predict --model a.safetensors photos/cat/0000.png photos/fox/0000.png >single
bang predict --model a.safetensors photos/cat/0000.png photos/fox/0000.png | cmp - single && echo "single pictures, too"

# perceptrons, alone and beside a transformer
mkdir arrays && $python -c 'import numpy
rng = numpy.random.default_rng(1)
numpy.save("arrays/images.npy", rng.integers(0, 255, (1030, 8, 8)).astype("u1"))
numpy.save("arrays/labels.npy", numpy.arange(1030) % 3)'
bang train --data arrays --hidden 9 --steps 5 --quiet -o m.safetensors
bang train --arch vit --patch 4 --width 8 --depth 1 --heads 1 --data arrays --steps 2 --quiet -o v.safetensors
numbers=3
same --model m.safetensors --data arrays
same --model m.safetensors --model v.safetensors --data arrays
ls -- *.npy.* 2>/dev/null

# ranks with other numbers of threads make one round together
rm -f ./*.npy
bang predict --model v.safetensors --data arrays --threads 1 --quiet -o o1.npy
ranks 1 predict --model v.safetensors --data arrays --threads 1 --quiet -o o2.npy : \
    -n 1 bang predict --model v.safetensors --data arrays --threads 40 --quiet -o o2.npy
cmp o1.npy o2.npy && echo "other numbers of threads: the same bytes"

# ranks that hold or were asked different things say so
bang train --arch vit --patch 4 --width 8 --depth 1 --heads 1 --data arrays --steps 3 --quiet -o w.safetensors
mkdir others && cp arrays/images.npy others && $python -c 'import numpy
numpy.save("others/labels.npy", numpy.arange(1030) % 2)'
differ() { # ARGUMENT...: of rank 1
    ranks 1 predict --model v.safetensors --data arrays --quiet -o x.npy : -n 1 bang predict "$@" --quiet -o x.npy
    [ -e x.npy ] && echo "there is a file"
}
differ --model w.safetensors --data arrays
differ --model v.safetensors --data others
differ --model v.safetensors --data arrays --batch 7 --ensemble probabilities
differ --model m.safetensors --data arrays
# copies of pictures, of which one is another picture
pictures copies classes=cat,dog,fox count=2
cp -r copies changed && cp photos/cat/0000.png changed/dog/0001.png
for data in copies changed; do
    ranks 1 predict --model a.safetensors --data copies --quiet -o x.npy : \
        -n 1 bang predict --model a.safetensors --data $data --quiet -o x.npy
    [ -e x.npy ] && echo "the same in $data" && rm x.npy
    for set in data val; do
        other=copies && [ $set = data ] && other=$data
        ranks 1 train --init a.safetensors --data copies --val copies --steps 1 --quiet -o x.safetensors : \
            -n 1 bang train --init a.safetensors --data "$other" --val $data --steps 1 --quiet -o x.safetensors
        [ -e x.safetensors ] && echo "the same in $data" && rm x.safetensors
    done
done
