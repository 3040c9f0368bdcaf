# Vision transformers: from scratch and from files, heads and their names, pictures that
# cannot be read, trainings that are killed and resumed.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
# what differs from machine to machine
hide() { sed -e '/^speed/d' -e 's/^loss .*/loss/' -e 's/, loss [0-9.]*/, loss L/' -e 's/^\(accuracy *\)[0-9.]* %/\1A %/'; }
keys() { $python -c 'import json, sys; print(" ".join(json.loads(sys.stdin.readline())))'; }
# digests: the run's depends on the number of cores
no_run() { sed -e "s/'bang.run': '[0-9a-f]\{64\}'/'bang.run': RUN/" -e "s/'bang.task': '[0-9a-f]\{64\}'/'bang.task': TASK/"; }
pick() { $python -c 'import json, sys; r = json.loads(sys.stdin.readline()); print(*(r[k] for k in sys.argv[1:]))' "$@"; }
pictures photos classes=cat,dog,fox count=8
pictures more classes=cat,dog,fox count=3 seed=2
new='--arch vit --patch 8 --width 16 --depth 2 --heads 2 --mlp-ratio 2 --image-size 16'

# from scratch
# shellcheck disable=SC2086
run train $new --data photos --val more --epochs 20 --batch 8 --lr 0.005 --threads 2 -o a.safetensors --log a.jsonl | hide
wc -l <a.jsonl
head -n 1 a.jsonl | keys
tail -n 1 a.jsonl | keys
bang inspect a.safetensors --json | pick format layout parameters metadata | no_run
# shellcheck disable=SC2086
bang train $new --data photos --val more --epochs 20 --batch 8 --lr 0.005 --threads 2 -o b.safetensors --json >b.json
cmp a.safetensors b.safetensors && echo same again
keys <b.json
pick steps epochs images bad_images bad_validation_images parameters batch best_step resumed_from output <b.json
pick options <b.json
bang predict --model a.safetensors --data more -o a.npy --json | pick accuracy >predicted
pick accuracy <b.json | sed 's/.*: \([0-9.]*\)}/\1/' | cmp - predicted && echo "accuracy as bang predict has it"

# every option of the recipe
# shellcheck disable=SC2086
run train $new --gelu tanh --channels 1 --mean 0.4 --std 0.3 --crop hf --data photos --val more \
    --steps 12 --batch 5 --lr 0.01 --optimizer sgd --momentum 0.9 --weight-decay 0.001 --schedule step --step-every 5 \
    --label-smoothing 0.1 --smoothing-mode others --mixup 0.2 --augment flip,rotate,color,crop \
    --rotate-degrees 10 --crop-scale 0.5,0.9 --color 0.2 --eval-every 4 --keep best --recompute --piece 2 \
    --clip-norm 0.5 --warmup 2 --loss mse --cache 1M --log c.jsonl --log-every 3 -o c.safetensors | sed '/^accuracy/d' | hide
$python -c 'import json
for line in open("c.jsonl"):
    r = json.loads(line)
    print(r["step"], r["images"], "accuracy" in r)'

# a data set in memory; the patch follows from its size
mkdir arrays && $python -c 'import numpy
rng = numpy.random.default_rng(1)
numpy.save("arrays/images.npy", rng.integers(0, 255, (12, 12, 12)).astype("u1"))
numpy.save("arrays/labels.npy", numpy.arange(12) % 4)'
run train --arch vit --width 8 --depth 1 --heads 1 --data arrays --steps 3 -o d.safetensors | hide
# numbers are outputs: a class that is not there does not cost the head
mkdir fewer && $python -c 'import numpy
numpy.save("fewer/images.npy", numpy.load("arrays/images.npy")[:3])
numpy.save("fewer/labels.npy", numpy.array([0, 2, 1]))'
run train --init d.safetensors --data fewer --val arrays --steps 0 -o e.safetensors | hide
bang diff d.safetensors e.safetensors --json | $python -c 'import json, sys
print(all(t["equal"] for t in json.load(sys.stdin)["tensors"]))'
run train --init d.safetensors --data fewer --mean 0.1,0.2,0.3 --std 1,2,3 -o e.safetensors
run predict --model d.safetensors --data fewer --mean 0.1,0.2,0.3 -o e.npy
run train --arch vit --width 8 --depth 1 --data arrays --image-size 13 --steps 3 -o d.safetensors

# from a file of another framework's: a new head; then its own again; the head alone
vit make timm.safetensors image=16 classes=5 seed=3
run train --init timm.safetensors --data photos --steps 5 --batch 8 -o tuned.safetensors | hide
bang inspect tuned.safetensors --json | pick metadata | no_run
run train --init tuned.safetensors --data photos --val more --only-head --steps 30 --lr 0.01 -o head.safetensors | hide
bang diff tuned.safetensors head.safetensors --json | $python -c 'import json, sys
for t in json.load(sys.stdin)["tensors"]:
    if t["max_abs"]: print(t["name"])'
# at another size the positions are moved to its grid
run train --init tuned.safetensors --image-size 24 --data photos --steps 2 --batch 8 -o large.safetensors | hide
run train --init tuned.safetensors --image-size 23 --data photos -o d
# what is finished is not done again, unless it is something else
run train --init tuned.safetensors --image-size 24 --data photos --steps 2 --batch 8 -o large.safetensors --resume
run train --init tuned.safetensors --image-size 24 --data photos --steps 2 --batch 7 -o large.safetensors --resume | hide
run train --init tuned.safetensors --image-size 24 --data more --steps 2 --batch 7 -o large.safetensors --resume | hide
run train --init tuned.safetensors --image-size 24 --data more --steps 2 --batch 7 -o large.safetensors | hide

# labels follow the names of the head
vit make named.safetensors image=16 classes=4 names=fox,owl,dog,cat seed=5
run train --init named.safetensors --data photos --val more --only-head --steps 200 --lr 0.05 -o n.safetensors | hide
bang predict --model n.safetensors --data photos/fox/0000.png --json | $python -c 'import json, sys
print(json.load(sys.stdin)["top"][0]["classes"][0]["name"])'
# as many classes of other names are other classes; a zero-shot head has names for people
vit make pets.safetensors image=16 classes=3 names=ant,bee,cow seed=5
run train --init pets.safetensors --data photos --val more --steps 2 -o n.safetensors | hide
bang inspect n.safetensors --json | pick metadata | grep -o '"classes":[^}]*'

# a CLIP needs a head from its text tower
clip clip.safetensors width=16 patch=8 grid=2 embedding=8 scale=0.3 seed=3
vit head zero.safetensors classes=3 features=8 seed=4 names=cat,dog,fox
run train --init clip.safetensors --heads 2 --data photos --steps 3 -o clipped.safetensors
run train --init clip.safetensors --heads 2 --head zero.safetensors --data photos --steps 3 --batch 8 -o clipped.safetensors | hide
bang inspect clipped.safetensors --json | pick layout
vit head people.safetensors classes=3 features=8 seed=4 "names=a cat,a dog,a fox"
run train --init clip.safetensors --heads 2 --head people.safetensors --data photos --val more --steps 2 -o n.safetensors | hide
bang inspect n.safetensors --json | pick metadata | grep -o '"classes":[^}]*'
run train --arch vit --init clip.safetensors --head zero.safetensors --data photos -o x.safetensors
run train --arch clip --init timm.safetensors --data photos -o x.safetensors
vit head four.safetensors classes=4 features=8 seed=4
run train --init clip.safetensors --heads 2 --head four.safetensors --data photos -o x.safetensors

# a CSV, and pictures that cannot be read
{ echo path,label; for f in photos/*/*.png; do echo "$f,$(basename "$(dirname "$f")")"; done; } >list.csv
# shellcheck disable=SC2086
bang train $new --data list.csv --val more --epochs 20 --batch 8 --lr 0.005 --threads 2 -q -o b.safetensors
cmp a.safetensors b.safetensors && echo same from a CSV
echo broken >photos/cat/0003.png
: >more/dog/0001.png
# shellcheck disable=SC2086
run train $new --data photos --epochs 2 --batch 8 -o x.safetensors
# what was done before the bad picture came is not lost
for more in '' '--resume --on-bad-image skip'; do
    # shellcheck disable=SC2086
    run train $new --data photos --steps 12 --batch 1 --seed 2 -q -o y.safetensors $more
done
# shellcheck disable=SC2086
bang train $new --data photos --steps 12 --batch 1 --seed 2 --on-bad-image skip -q -o z.safetensors
cmp y.safetensors z.safetensors && echo same after a bad picture
# nor what was done before an evaluation that failed
pictures good classes=cat,dog,fox count=2
for more in '' '--resume --on-bad-image skip'; do
    # shellcheck disable=SC2086
    run train $new --data good --val more --steps 4 --eval-every 2 --batch 3 -q -o u.safetensors $more
done
# shellcheck disable=SC2086
bang train $new --data good --val more --steps 4 --eval-every 2 --batch 3 --on-bad-image skip -q -o v.safetensors
cmp u.safetensors v.safetensors && echo same after a bad evaluation
mkdir -p bad/cat && echo broken >bad/cat/a.png
# shellcheck disable=SC2086
run train $new --data bad --steps 3 --batch 2 --on-bad-image skip -o w.safetensors
# shellcheck disable=SC2086
run train $new --data photos --val more --epochs 2 --batch 8 --on-bad-image skip -o x.safetensors | hide
# shellcheck disable=SC2086
bang train $new --data photos --val more --epochs 2 --batch 8 --on-bad-image skip -o x.safetensors --json -q | pick bad_images bad_validation_images

# refused before any work
run train --arch vit --hidden 3 --activation relu --no-reduction --data photos -o d
run train --arch vit --patch 5 --width 10 --heads 3 --image-size 16 --data photos -o d
run train --arch vit --augment flip,swirl --rotate-degrees 4 --color 0.1 --crop-scale 0.5,1 --keep some --eval-every 3 --mlp-ratio -1 --channels 2 --depth -4 --mean x --std 0 --gelu relu --on-bad-image ask --crop none --data photos -o d
run train --arch vit --patch 7 --image-size 16 --heads 3 --width 16 --augment swirl --data nowhere -o d
run train --arch vit --image-size 97 --data nowhere -o d
run train --arch vit --patch 7 --width 30 --data nowhere -o d
run train --arch vit --only-head --recompute --keep best --eval-every 0 --piece 0 --data photos -o d
run train --init timm.safetensors --patch 4 --width 8 --channels 3 --image-size 32 --data photos -o d
run train --arch vit --data nothing --val nowhere.csv -o d
run train --init nothing.safetensors --arch vit --data nothing -o d
run train --init list.csv --arch vit --data photos -o d
pictures other classes=ant,bee count=1
run train --init named.safetensors --data photos --val other -o d
run train --arch vit --data photos/cat/0000.png -o d

# killed and interrupted: resumed it ends with the same bytes, the log too
cp photos/cat/0002.png photos/cat/0003.png
long() { # takes the place of the shell, which ignores SIGINT for what runs in the background
    # shellcheck disable=SC2086
    exec env --default-signal=INT bang train $new --data photos --val more --on-bad-image skip --steps 400 --batch 7 --mixup 0.3 --augment flip,crop \
        --eval-every 50 --keep best --threads 2 --log-every 3 -q "$@"
}
until_there() { # PID FILE
    while [ ! -s "$2" ] && kill -0 "$1" 2>/dev/null; do sleep 0.01; done
}
resumed() { pick resumed_from bad_images bad_validation_images | sed 's/^[1-9][0-9]*/resumed,/'; }
echo broken >photos/dog/0005.png
(long -o whole.safetensors --log whole.jsonl)
ls -- *.state 2>&1
rm -f part.safetensors
for _ in 1 2 3; do
    long -o part.safetensors --log part.jsonl --state-minutes 0 --resume &
    until_there $! part.safetensors.state
    kill -s KILL $!
    wait $! 2>/dev/null
done
ls part.safetensors 2>&1
(long -o part.safetensors --batch 6 --label-smoothing 0.1 --resume)
echo "exit $?"
long -o part.safetensors --log part.jsonl --resume --json | resumed
cmp whole.safetensors part.safetensors && cmp whole.jsonl part.jsonl && echo same after kills
touch -d 2001-01-01 part.safetensors
(long -o part.safetensors --log part.jsonl --resume --json)
find part.safetensors -newermt 2002-01-01
for signal in TERM INT; do
    rm -f part.safetensors part.jsonl
    long -o part.safetensors --log part.jsonl 2>said &
    until_there $! part.jsonl
    kill -s $signal $!
    wait $!
    echo "exit $?"
    sed 's/step [0-9]* of/step N of/' said
    long -o part.safetensors --log part.jsonl --resume --json | resumed
    cmp whole.safetensors part.safetensors && cmp whole.jsonl part.jsonl && echo "same after SIG$signal"
done
find . -name '*state*' -o -name '.*part*' | sort
