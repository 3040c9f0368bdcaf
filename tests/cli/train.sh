# Training: the same bytes again, reduced or not; problems before any work.
# shellcheck source=/dev/null disable=SC2154
. "$here/digits.inc"
bang data make multicolor -o train -q
bang data make multicolor --split test -o test -q

# what differs from run to run and from machine to machine
hide() { sed -e '/^speed/d' -e 's/^loss .*/loss/' -e 's/"loss":[^,]*/"loss":L/' -e 's/"seconds":[^,]*/"seconds":S/' -e 's/"rate":0[.]00[0-9]*/"rate":R/'; }

run train --help
run train --data train --val test --epochs 30 --batch 20 -o a.safetensors --log a.jsonl | hide
hide <a.jsonl
run train --data train --val test --epochs 30 --batch 20 -o b.safetensors --json | hide
cmp a.safetensors b.safetensors && echo same again
run train --data train --epochs 30 --batch 20 --threads 1 -q -o b.safetensors
cmp a.safetensors b.safetensors && echo same without --val
run train --data multicolor --epochs 30 --batch 20 -q -o b.safetensors
cmp a.safetensors b.safetensors && echo same by name
bang train --data train --epochs 30 --batch 20 --seed 2 -q -o b.safetensors
cmp -s a.safetensors b.safetensors || echo another seed, another network
run train --data train --val test --epochs 30 --batch 20 --no-reduction -o b.safetensors --json | hide
head -c 200 a.safetensors | tr -d '\0' | grep -ao '"__metadata__":{[^}]*}'
head -c 200 a.safetensors | grep -ao '"0[.]weight":{"dtype":"F32","shape":[^,]*,[^,]*'

# every option of the recipe
run train --data train --val test --hidden 30 --activation gelu --loss mse --steps 250 --batch 7 --lr 0.05 --optimizer sgd --momentum 0.9 --weight-decay 0.0001 --warmup 5 --schedule cosine --clip-norm 1 -o b.safetensors | hide
run train --data train --hidden 0 --steps 400 --optimizer adam --weight-decay 0.0001 --schedule step --step-every 100 --step-factor 0.5 -o b.safetensors | hide
run train --data train --val test --epochs 60 --label-smoothing 0.1 --smoothing-mode others --mixup 0.2 --activation tanh -o b.safetensors | hide
run train --data train --val test --steps 150 --smoothing-mode classy_vision --label-smoothing 0.1 --lr 0.002 -o b.safetensors --log b.jsonl --log-every 60 --json | hide
hide <b.jsonl

# from a network: no steps, no change; then some
run train --data train --init a.safetensors --steps 0 -o c.safetensors | hide
cmp a.safetensors c.safetensors && echo unchanged
run train --data train --init a.safetensors --steps 3 -o c.safetensors | hide
cmp -s a.safetensors c.safetensors || echo changed

# refused before any work
run train
run train --only-head --recompute --piece 3 --image-size 28 --keep best --augment flip --data train -o d
run train --data train --state-minutes -1 --state d -o d
run train --data train --state d --log d -o e
run train --data train --resume -o /dev/null
run train --arch cnn --hidden 64,x --activation silu --loss hinge --optimizer lion --schedule linear --smoothing-mode all --epochs 3 --steps 3 --batch 0 --warmup -1 --step-every 0 --log-every 0 --data train -o d extra
run train --data train --steps -1 -o d
run train --data train --epochs -2 --lr -1 --momentum 2 --weight-decay -1 --clip-norm -1 --label-smoothing 2 --mixup -1 -o d
run train --data train -o missing/d --log missing/e
run train --data train -o d --log d
run train --data nothing -o d
run train --data cache -o d
run train --data train --val mnist -o d
run train --data train --epochs 1 --warmup 100 -o d
run train --data train --init a.safetensors --hidden 64 -o d
run train --data mnist --init a.safetensors -o d
run train --data train --init ten -o d
run train --data train --optimizer adamw --momentum 0.9 -o d
run train --data train --lr 1e30 --optimizer sgd --log diverged.jsonl -o d
grep -c step diverged.jsonl
find . -name '*part*'
ls d missing 2>&1
# weights that are not finite are a failure, and nothing is written
run train --data train --lr 1e38 --weight-decay 0 --steps 1 -o big.safetensors
ls big.safetensors
# validation data have no say in the network
mkdir wide && cp test/images.npy wide && head -c 128 test/labels.npy >wide/labels.npy
for _ in $(seq 40); do printf '\14\0\0\0\0\0\0\0'; done >>wide/labels.npy
run train --data train --val wide --steps 1 -o x.safetensors

# killed, and interrupted: resumed it ends with the same bytes, the log too
long() { exec bang train --data train --val test --steps 6000 --batch 20 --mixup 0.2 --log-every 7 -q "$@"; }
until_there() { # PID FILE
    while [ ! -s "$2" ] && kill -0 "$1" 2>/dev/null; do sleep 0.01; done
}
(long -o whole.safetensors --log whole.jsonl)
ls whole.safetensors.state 2>&1
long -o part.safetensors --log part.jsonl --state-minutes 0 &
until_there $! part.safetensors.state
kill -s KILL $!
wait $! 2>/dev/null
ls part.safetensors 2>&1
run train --data train --val test --steps 6000 --batch 20 --mixup 0.3 --lr 0.01 --resume -q -o part.safetensors
long -o part.safetensors --log part.jsonl --resume --json | sed 's/.*"resumed_from":\([0-9]\)[0-9]*.*/\1/; s/[1-9]/resumed/'
cmp whole.safetensors part.safetensors && cmp whole.jsonl part.jsonl && echo same after a kill
rm part.safetensors part.jsonl
long -o part.safetensors --log part.jsonl 2>said &
until_there $! part.jsonl
kill -s TERM $!
wait $!
echo "exit $?"
sed 's/step [0-9]* of/step N of/' said
long -o part.safetensors --log part.jsonl --resume --json | sed 's/.*"resumed_from":\([0-9]\)[0-9]*.*/\1/; s/[1-9]/resumed/'
cmp whole.safetensors part.safetensors && cmp whole.jsonl part.jsonl && echo same after an interrupt
run train --data train --steps 1 --resume -o part.safetensors | hide
find . -name '*state*' -o -name '*part*' | sort

# labels are needed
mkdir bare && cp train/images.npy bare
run train --data bare --val bare --steps 1 -o x.safetensors
run train --data train --val bare --steps 1 -o x.safetensors
run train --arch vit --data bare --steps 1 -o x.safetensors
