# Every method on a model of many types and shapes, held against numpy.
# shellcheck source=/dev/null disable=SC2154
. "$here/average.inc"
reference make .
for model in base a b c fa fb fc; do
    mv $model.safetensors $model.st
done
# average KEYS OPTIONS...: for the three models
average() {
    keys=$1
    shift
    run average a.st b.st c.st -q -o out.safetensors "$@"
    # shellcheck disable=SC2086
    reference "$method" out.safetensors $keys a.st b.st c.st
}
# two KEYS OPTIONS...: for two
two() {
    keys=$1
    shift
    run average a.st b.st -q -o out.safetensors "$@"
    # shellcheck disable=SC2086
    reference "$method" out.safetensors $keys a.st b.st
}

method=linear
two ''
two 'weights=.75,.25' --alpha .25
two 'weights=0,1' --alpha 1
two 'weights=2.5,-1.5' --alpha -1.5
average ''
average '' --method uniform
average 'weights=.3,-2,.7 rule=layers.1*:1,0,0 rule=head.*:.1,.2,.7' \
    --weights .3,-2,.7 --rule 'layers.1*=1,0,0' --rule 'head.*=.1,.2,.7'
for type in f32 f16 bf16; do
    average 'weights=.1,.2,.7' --weights .1,.2,.7 --dtype $type
done

method=slerp
for scope in tensor layer model; do
    two "scope=$scope weights=.7,.3" --method slerp --scope $scope --alpha .3
done
two 'weights=-.25,1.25' --method slerp --alpha 1.25
two 'weights=.5,.5 rule=head.*:1,0' --method slerp --rule 'head.*=0'

base='--method task --base base.st'
method=task
# shellcheck disable=SC2086
{
    average 'base=base.st' $base
    average 'base=base.st scale=.7 weights=1,2,-1' $base --scale .7 --weights 1,2,-1
    average 'base=base.st rule=*.bias:0,0,0 weights=1,1,1' $base --rule '*.bias=0,0,0' --weights 1,1,1
}

method=ties
for scope in tensor layer model; do
    average "scope=$scope base=base.st" --method ties --base base.st --scope $scope
    average "scope=$scope base=base.st density=.7 scale=.9 weights=1,2,.5" --method ties \
        --base base.st --scope $scope --density .7 --scale .9 --weights 1,2,.5
done
average 'base=base.st density=1' --method ties --base base.st --density 1
average 'base=base.st density=1e-9' --method ties --base base.st --density 1e-9

method=dare
average 'base=base.st' --method dare --base base.st
average 'base=base.st drop=.3 seed=77 scale=.5 weights=1,0,2' --method dare --base base.st \
    --drop .3 --seed 77 --scale .5 --weights 1,0,2 --dtype bf16
average 'base=base.st drop=0' --method dare --base base.st --drop 0

method=stock
for scope in tensor layer model; do
    average "scope=$scope base=base.st" --method stock --base base.st --scope $scope
done
two 'base=base.st' --method stock --base base.st --dtype f32

method=fisher
fishers='--method fisher --fisher fa.st --fisher fb.st --fisher fc.st'
# shellcheck disable=SC2086
{
    average 'fisher=fa.st fisher=fb.st fisher=fc.st' $fishers
    average 'fisher=fa.st fisher=fb.st fisher=fc.st weights=1,2,.3' $fishers --weights 1,2,.3
}

# balance: the numbers and the scales that are told
method=linear
for how in norm layer-norm; do
    bang average a.st b.st --balance $how --alpha .4 --json -o out.safetensors >told.json
    reference linear out.safetensors balance=$how weights=.6,.4 json=told.json a.st b.st
    bang average a.st b.st c.st --balance $how --target .2 --weights 1,.4,.5 \
        --rule 'head*=.1,.2,.3' --json -o out.safetensors >told.json
    reference linear out.safetensors balance=$how target=.2 weights=1,.4,.5 \
        'rule=head*:.1,.2,.3' json=told.json a.st b.st c.st
done
run average a.st b.st --balance layer-norm -o out.safetensors
run average a.st b.st c.st --balance norm --target .5 -o out.safetensors
run average a.st b.st --balance norm --target 0 --alpha .3 -q -o out.safetensors
reference linear out.safetensors weights=1,0 'rule=*running_mean:.7,.3' a.st b.st

# one input and a base: all of the change, and none of it
run average a.st --base base.st --method task --alpha 1 -q -o out.safetensors
checkpoint same out.safetensors a.st
run average a.st --base base.st --method stock -q -o out.safetensors
checkpoint same out.safetensors a.st
run average a.st --base base.st --method dare --drop 0 --alpha 0 -q -o out.safetensors
reference dare out.safetensors base=base.st weights=0 a.st
run average a.st --base base.st --method ties --density 1 --alpha 1 -q -o out.safetensors
reference ties out.safetensors base=base.st density=1 weights=1 a.st

# least OPTIONS...: in as little memory as it says it needs, which changes a bit
least() {
    need=$(bang average "$@" --max-memory 1MB 2>&1 | sed -n 's/.*at least \([0-9]*\) MB.*/\1/p')
    most=$((${need:-0} + 100))
    until bang average "$@" --max-memory "${need}MB" 2>/dev/null || [ "$need" -gt $most ]; do
        need=$((need + 1))
    done
}

# the same bytes whatever the machine: threads, memory, again
for options in '--method linear' '--method slerp' '--balance layer-norm' \
    '--method ties --base base.st' '--method dare --base base.st' '--method stock --base base.st' \
    '--method fisher --fisher fa.st --fisher fb.st'; do
    # shellcheck disable=SC2086
    {
        bang average a.st b.st $options -q -o 1.safetensors
        least a.st b.st $options -q -o 2.safetensors --threads 1
        bang average a.st b.st $options -q -o 3.safetensors --threads 7
    }
    cmp 1.safetensors 2.safetensors && cmp 1.safetensors 3.safetensors && echo "same: $options"
    rm [123].safetensors
done
# more memory is never too little
bang average a.st b.st c.st --method ties --base base.st -q -o 1.safetensors
least a.st b.st c.st --method ties --base base.st -q -o 2.safetensors
for more in 1 2 3 4 5 6; do
    bang average a.st b.st c.st --method ties --base base.st -q -o 3.safetensors \
        --max-memory $((need + more))MB
    cmp 1.safetensors 3.safetensors && rm 3.safetensors
done
