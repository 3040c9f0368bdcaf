# Training as several ranks: the course and the weights of one process, up to the order of sums; one
# that is killed, and goes on as another number of ranks. How far sums in another order may be
# apart is said in tests/rank/training.c, which looks at everything in more detail.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
# shellcheck source=/dev/null
. "$here/ranks.inc"
hide() { sed -e '/^speed/d' -e 's/^loss .*/loss/' -e 's/, loss [0-9.]*/, loss L/'; }
near() {
    $python - "$@" <<'END'
import json
import sys

first, *others = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
for other in others:
    same = len(first) == len(other) and all(a.keys() == b.keys() for a, b in zip(first, other))
    far = max(abs(a[k] - b[k]) / max(1, abs(a[k])) for a, b in zip(first, other) for k in a)
    print(len(other), "steps", "near" if same and far < 2e-5 else f"far: {far}")
END
}
# the same weights up to that
close_to() {
    bang diff "$1" "$2" --json | $python -c 'import json, sys
far = max(t["max_abs"] for t in json.load(sys.stdin)["tensors"])
print("the same weights" if far < 2e-5 else f"far: {far}")'
}

# all of a recipe, a picture that cannot be read, 25 pictures in batches of 8: the last has one
pictures photos classes=cat,dog,fox count=8
pictures more classes=cat,dog,fox count=3 seed=2
echo broken >photos/dog/broken.png
vit='--arch vit --patch 8 --width 16 --depth 2 --heads 2 --mlp-ratio 2 --image-size 16 --data photos'
recipe='--mixup 0.3 --label-smoothing 0.1 --augment flip,rotate --clip-norm 0.5 --val more --eval-every 4
    --epochs 4 --batch 8 --lr 0.005 --on-bad-image skip'
# shellcheck disable=SC2086
bang train $vit $recipe -o 1.safetensors --log 1.jsonl 2>&1 | hide | sed 's/written .*/written/' >1.txt
for n in 2 4; do
    # shellcheck disable=SC2086
    ranks $n train $vit $recipe -o $n.safetensors --log $n.jsonl | hide | sed 's/written .*/written/' >$n.txt
    # what is said on stderr may come before or after
    sort 1.txt >sorted && sort $n.txt | cmp - sorted && echo "$n ranks say the same"
done
cat 1.txt
# AdamW makes steps of nothing but rounding where a gradient is 0: the weights of such differ, and
# tell nothing
near 1.jsonl 2.jsonl 4.jsonl
# shellcheck disable=SC2086
ranks 3 train $vit $recipe --json --quiet -o j.safetensors | $python -c 'import json, sys
r = json.load(sys.stdin); print(r["bad_images"], r["batch"], r["options"]["ranks"])'

# the head alone, and perceptrons
bang train --init 1.safetensors --only-head --data more --steps 20 --optimizer sgd --quiet -o h1.safetensors
ranks 2 train --init 1.safetensors --only-head --data more --steps 20 --optimizer sgd --quiet -o h2.safetensors
close_to h1.safetensors h2.safetensors
# ranks with other numbers of threads keep the same best one
ranks 1 train --init 1.safetensors --only-head --data more --val photos --eval-every 1 --keep best --steps 9 \
    --on-bad-image skip --batch 5 --threads 1 --quiet -o b.safetensors : -n 1 bang train --init 1.safetensors \
    --only-head --data more --val photos --eval-every 1 --keep best --steps 9 --on-bad-image skip --batch 5 \
    --threads 3 --quiet -o b.safetensors
ls b.safetensors*
# and what decides which calls follow must be the same on all
ranks 1 train --init 1.safetensors --data more --steps 2 --quiet -o x.safetensors : \
    -n 1 bang train --init 1.safetensors --data more --steps 2 --on-bad-image skip --quiet -o x.safetensors
mkdir arrays && $python -c 'import numpy
rng = numpy.random.default_rng(1)
numpy.save("arrays/images.npy", rng.integers(0, 255, (50, 12, 12)).astype("u1"))
numpy.save("arrays/labels.npy", numpy.arange(50) % 4)'
mlp='--data arrays --val arrays --hidden 20 --epochs 10 --batch 12 --lr 0.01 --optimizer sgd --log-every 1'
# shellcheck disable=SC2086
bang train $mlp --mixup 0.2 -o m1.safetensors --log m1.jsonl | hide | sed 's/m1/m/' >m1.txt
for n in 2 4; do
    # shellcheck disable=SC2086
    ranks $n train $mlp --mixup 0.2 -o m$n.safetensors --log m$n.jsonl | hide | sed "s/m$n/m/" | cmp - m1.txt &&
        echo "$n ranks say the same"
    close_to m1.safetensors m$n.safetensors
done
near m1.jsonl m2.jsonl m4.jsonl

# what goes wrong on one rank is said once
# shellcheck disable=SC2086
ranks 2 train $vit --steps 9 --batch 8 --quiet -o x.safetensors
# shellcheck disable=SC2086
ranks 2 train $vit --batch none -o x.safetensors
[ -e x.safetensors ] && echo "there is a file"
rm photos/dog/broken.png

# One rank is killed in the middle: the others stop, what is saved goes on as any number of ranks.
# Rank 2 says which process it is.
cat >rank <<'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 2 ] && echo $$ >process
exec bang "$@"
END
chmod +x rank
kill_one() { # ARGUMENT...: killed once five steps of 120 are in the log
    rm -f process log.jsonl k.safetensors*
    "$here/../rank/mpirun" 4 ./rank train "$@" --state-minutes 0 --log log.jsonl --log-every 1 \
        -o k.safetensors >killed.txt 2>&1 &
    started=$!
    until [ -s log.jsonl ] && [ "$(wc -l <log.jsonl)" -ge 5 ] || ! kill -0 $started 2>/dev/null; do sleep 0.02; done
    kill -0 $started 2>/dev/null || { wait $started; return 1; } # its ranks are gone, too
    kill -STOP "$(cat process)"
    # a stopped one holds up all steps, so the last ones are not done if many are missing
    [ "$(wc -l <log.jsonl)" -lt 100 ]
    early=$?
    kill -9 "$(cat process)"
    wait $started && echo "the launcher is content"
    return $early
}
killed() { # ARGUMENT...
    tries=0
    until kill_one "$@" >said 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 10 ] || { echo "always done before it was killed" && return; }
    done
    cat said
    grep -c 'rank 2 has ended in the middle of the work' killed.txt
    grep -c 'go on with the same command and --resume' killed.txt
    [ -e k.safetensors ] && echo "it was done before"
    cp k.safetensors.state kept.state && cp log.jsonl kept.jsonl
    for n in 1 4; do
        cp kept.state k.safetensors.state && cp kept.jsonl log.jsonl
        ranks $n train "$@" --resume --log log.jsonl --log-every 1 --quiet -o k.safetensors
        close_to whole.safetensors k.safetensors
        near whole.jsonl log.jsonl
        ls k.safetensors*
    done
}
steps='--steps 120 --batch 7 --optimizer sgd --lr 0.01'
# shellcheck disable=SC2086
bang train $vit $steps --mixup 0.2 --log whole.jsonl --quiet -o whole.safetensors
# shellcheck disable=SC2086
killed $vit $steps --mixup 0.2
# shellcheck disable=SC2086
ranks 3 train $vit $steps --mixup 0.2 --resume -o k.safetensors
# shellcheck disable=SC2086
ranks 3 train $vit $steps --mixup 0.2 --resume -o whole.safetensors
mlp="--data arrays --hidden 20 $steps"
# shellcheck disable=SC2086
bang train $mlp --log whole.jsonl --log-every 1 --quiet -o whole.safetensors
# shellcheck disable=SC2086
killed $mlp
