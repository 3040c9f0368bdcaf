# A small vision transformer on MNIST from scratch, fine-tuned on another domain, averaged and
# predicted, by commands alone. What is asserted leaves room for other processors.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
BANG_CACHE_BEFORE=${BANG_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bang}
BANG_CACHE=$PWD/cache
export BANG_CACHE
if ! bang data get mnist --from "$BANG_CACHE_BEFORE/mnist" >getting 2>&1 && ! bang data get mnist >getting 2>&1; then
    cat getting
    grep -q 'network' getting && exit 77
fi
accuracy() { # DATA MODEL...: in per cent
    data=$1
    shift
    for model; do set -- "$@" --model "$model"; shift; done
    bang predict --data "$data" "$@" -o logits.npy --json | sed 's/.*"accuracy":\([^,]*\),.*/\1/'
}
holds() { # TEXT A OPERATOR B
    awk -v a="$2" -v op="$3" -v b="$4" 'BEGIN { exit !(op == ">" ? a + 0 > b + 0 : a + 0 >= b + 0) }' &&
        echo "$1" || echo "not so: $1: $2 $3 $4"
}
# dim digits in noise: 4,000 of the last training digits and 4,000 of the test digits
$python - "$BANG_CACHE/mnist" <<'END'
import os, sys
import numpy as np
random = np.random.default_rng(1)
def read(name, skip, *shape):
    with open(os.path.join(sys.argv[1], name), "rb") as file:
        return np.frombuffer(file.read(), "u1", offset=skip).reshape(-1, *shape)
for folder, stem, rows in (("noisy", "train", slice(-4000, None)), ("noisy-test", "t10k", slice(4000))):
    x = read(stem + "-images-idx3-ubyte", 16, 28, 28)[rows] * 0.4 + 70
    x = x + random.normal(0, 55, x.shape)
    os.mkdir(folder)
    np.save(folder + "/images.npy", np.clip(np.rint(x), 0, 255).astype("u1"))
    np.save(folder + "/labels.npy", read(stem + "-labels-idx1-ubyte", 8)[rows].astype("i8"))
END
bang train --arch vit --data mnist --patch 7 --width 64 --depth 4 --heads 4 --mlp-ratio 2 \
    --epochs 4 --batch 100 --lr 2e-3 -o pre.safetensors -q
bang train --init pre.safetensors --data noisy --epochs 6 --batch 50 --lr 5e-4 --weight-decay 0.1 \
    --label-smoothing 0.1 --mixup 0.2 -o fine.safetensors -q
bang average pre.safetensors fine.safetensors -o average.safetensors -q

holds 'from scratch: 97 % and more' "$(accuracy mnist:split=test pre.safetensors)" '>=' 0.97
pre_noisy=$(accuracy noisy-test pre.safetensors)
fine_noisy=$(accuracy noisy-test fine.safetensors)
fine=$(accuracy mnist:split=test fine.safetensors)
average=$(accuracy mnist:split=test average.safetensors)
average_noisy=$(accuracy noisy-test average.safetensors)
ose_noisy=$(accuracy noisy-test pre.safetensors fine.safetensors)
holds 'fine-tuning helps in the domain of the fine-tuning' "$fine_noisy" '>' "$pre_noisy"
holds 'so does the average' "$average_noisy" '>' "$pre_noisy"
holds 'and the ensemble' "$ose_noisy" '>' "$pre_noisy"
holds 'the average knows more of what was known before' "$average" '>' "$fine"

# the ensemble is the mean of the logits of both
bang predict --model pre.safetensors --model fine.safetensors --data noisy-test -o ose.npy -q
for model in pre fine; do
    bang predict --model $model.safetensors --data noisy-test -o $model.npy -q
done
vit mean expected.npy pre.npy 0.5 fine.npy 0.5
vit compare ose.npy expected.npy 1e-4

# a digit as a picture, for a person
$python - <<'END'
import numpy as np
import make_pictures
x = np.load("noisy-test/images.npy")[0]
make_pictures.png("digit.png", np.repeat(x[..., None], 3, 2))
END
bang predict --model fine.safetensors digit.png | sed -n '1p; 2s/.* %//p'
