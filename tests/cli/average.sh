# What bang average does with files: which tensors, which bytes, which names; and
# everything that it refuses. average_methods has the numbers.
# shellcheck source=/dev/null disable=SC2154
. "$here/average.inc"
vectors=$here/../data/checkpoints
same() { cmp "$1" "$2" && echo "$1 and $2 are the same, byte for byte"; }
# listing: what is in the folder, hidden files too
listing() { find . -name "$1" | sed 's:^\./::' | LC_ALL=C sort | tr '\n' ' ' | sed 's/ *$//' && echo; }
# recipe FILE: what the output says of how it was made
recipe() {
    $python - "$1" <<'RECIPE'
import json, re, sys
import read_checkpoint as r
metadata = r.read_file(sys.argv[1])[1]
recipe = json.loads(metadata.pop("bang"))
print(json.dumps(metadata, sort_keys=True))
recipe["version"] = "V"
for key in recipe:
    print(" ", key, re.sub('("header_sha256": )"[0-9a-f]{64}"', r"\1H", json.dumps(recipe[key])))
RECIPE
}
cat >make.py <<'MAKE'
"""What the cases begin with, named as the cases need them."""
import numpy as np
import read_checkpoint as r

f, h = np.float32, np.float16
nan, inf = np.nan, np.inf


def write(name, tensors, metadata=None):
    r.write(name + ".safetensors", tensors, metadata)


x, y = np.arange(6, dtype=f).reshape(2, 3), np.arange(6, dtype=f).reshape(2, 3)[::-1] * 7
write("a", {"head.weight": x, "body.0.weight": x + 1, "body.1.weight": x[0]}, {"format": "pt"})
write("b", {"head.weight": y, "body.0.weight": y + 1, "body.1.weight": y[0]}, {"format": "tf"})
write("c", {"head.weight": x * 3, "body.0.weight": x * 5, "body.1.weight": x[1]})
write("half", {"head.weight": x.astype(h), "body.0.weight": x, "body.1.weight": x[0]})
write("bent", {"head.weight": x.T.copy(), "body.0.weight": x, "body.1.weight": x[0]})
write("more", {"head.weight": x, "body.0.weight": x, "body.1.weight": x[0], "extra": x, "n": x})
write("all", {"head.weight": x.T.astype(h), "body.0.weight": x.astype(h), "new.bias": x[0],
              "body.1.weight": np.array([1, 2, 3])})
write("other", {"z": x})
write("none", {})
for k, name in enumerate(("i", "j")):
    write(name, {"w": x + k, "ids": np.array([1, 2 + k]), "same": np.array([[4]], np.int32)})
for k, name in enumerate(("bn1", "bn2", "bn3")):
    write(name, {"w": x + k, "n.num_batches_tracked": np.array(10 * k + 5),
                 "n.running_mean": x[0] + k, "n.running_var": x[1] + k})
write("bnf1", {"w": x, "n.num_batches_tracked": np.array(5, f)})
write("bnf2", {"w": x, "n.num_batches_tracked": np.array(8, f)})
write("short", {"w": x, "ids": np.array([1, 2], np.int32), "same": np.array([[4]], np.int32)})
write("nan", {"head.weight": x, "body.0.weight": x, "body.1.weight": np.array([1, nan, -inf], f)})
write("inf", {"head.weight": x, "body.0.weight": x, "body.1.weight": np.array([1, 2, inf], f)})
write("big", {"head.weight": x + f(3e38), "body.0.weight": x, "body.1.weight": x[0]})
odd = {"scalar": np.array(3, f), "empty": np.zeros((0, 4), f), "yes": np.array([True, False]),
       "e4": ("F8_E4M3", (4,), bytes([0x38, 0x40, 0xb8, 0])), "c": np.array([1 + 2j], "c8"),
       "e5": ("F8_E5M2", (2,), bytes([0x3c, 0x40])), "f4": ("F4", (3, 2), b"\x12\x34\x56"),
       "e8": ("F8_E8M0", (3,), b"\1\2\3"), "u": ("U64", (1,), b"\xff" * 8)}
write("odd1", odd)
write("odd2", dict(odd, scalar=np.array(4, f), e4=("F8_E4M3", (4,), bytes([0x40, 0x40, 0x38, 0]))))
write("odd3", dict(odd, c=np.array([1 - 2j], "c8"), f4=("F4", (3, 2), b"\x12\x34\x57"),
                   yes=np.array([True, True])))
write("glob", {"a=b": x, "a=c": x, "[x]": x, "p/q.r": x})
write("glob2", {"a=b": y, "a=c": y, "[x]": y, "p/q.r": y})
write("esc", {"h\x1b[31m.w": x, "h\x1b[31m.n": np.array([1])})
write("esc2", {"h\x1b[31m.w": y, "h\x1b[31m.n": np.array([2])})
write("many", {f"layer.{i}": x for i in range(9)})
write("many2", {f"layer.{i}": x.T.copy() for i in range(9)})
MAKE
$python make.py

run average --help
bang average --help | awk 'length > 100 { print "too long: " $0 }'

# two, three, with weights, with several alphas
run average a.safetensors b.safetensors -o half.out.safetensors
checkpoint linear half.out.safetensors a.safetensors .5 b.safetensors .5
run average a.safetensors b.safetensors c.safetensors -q -o third.safetensors
checkpoint linear third.safetensors a.safetensors .333333333333333333 \
    b.safetensors .33333333333333333 c.safetensors .33333333333333333
run average a.safetensors b.safetensors --weights 2,.5 -o sum.safetensors
checkpoint linear sum.safetensors a.safetensors 2 b.safetensors .5
: >'.at 0.7.safetensors.bang-part' # of a run with other alphas that was killed
run average a.safetensors b.safetensors --alpha .5,0.50,0,1,-1e0 -o 'at {alpha}.safetensors'
find . -name '*.bang-part'
for alpha in .5 0.50 0 1 -1e0; do
    bang average a.safetensors b.safetensors -q -o one.safetensors --alpha="$alpha"
    same "at $alpha.safetensors" one.safetensors
done
checkpoint same 'at 0.safetensors' a.safetensors
checkpoint same 'at 1.safetensors' b.safetensors
recipe 'at 0.50.safetensors'
run average a.safetensors b.safetensors -q -o '{alpha}/{alpha}.safetensors' -a .5
run average a.safetensors b.safetensors -q -o twice-.5-.5.safetensors
run average a.safetensors b.safetensors -q -a .5 -o 'twice-{alpha}-{alpha}.out.safetensors'
checkpoint same twice-.5-.5.safetensors twice-.5-.5.out.safetensors

# rules: the last wins; = in names; what * matches
run average a.safetensors b.safetensors --rule '*=.25' --rule 'head.*=1' --rule '*.1.*=-1,3' \
    --dry-run -o rules.safetensors
run average a.safetensors b.safetensors --rule '*=.25' --rule 'head.*=1' --rule '*.1.*=-1,3' \
    -o rules.safetensors
recipe rules.safetensors
run average glob.safetensors glob2.safetensors --rule 'a=b=0' --rule '\[x]=1' --rule 'p*r=.25' \
    -n -o rules.safetensors
run average glob.safetensors glob2.safetensors --rule 'a=?=0' --rule '[x]=1' --rule 'A*=1' \
    -o refused.safetensors
run average a.safetensors b.safetensors -a 0,1 --rule 'head*=.5' -q -o 'rule-{alpha}.safetensors'
run average a.safetensors b.safetensors -n -a 0,1 --rule 'head*=.5' -o 'rule-{alpha}.safetensors'
$python - <<'END'
import read_checkpoint as r
a, b, zero, one, half = (r.read(n + ".safetensors") for n in
                         ("a", "b", "rule-0", "rule-1", "half.out"))
print(all(zero[k] == (half if k.startswith("head") else a)[k] for k in a),
      all(one[k] == (half if k.startswith("head") else b)[k] for k in b))
END

# integers: equal, not equal, counters and statistics of batch norm
run average i.safetensors j.safetensors -o refused.safetensors
run average i.safetensors i.safetensors -o int.safetensors
for which in first last; do
    run average i.safetensors j.safetensors --on-integer $which -o $which.safetensors
done
$python - <<'END'
import read_checkpoint as r
i, j, first, last = (r.read(n + ".safetensors") for n in ("i", "j", "first", "last"))
print(first["ids"] == i["ids"] != last["ids"] == j["ids"], first["w"] == last["w"])
END
run average i.safetensors short.safetensors --on-integer first --dtype f32 -o refused.safetensors
run average bn1.safetensors bn2.safetensors bn3.safetensors -o bn.safetensors
$python - <<'END'
import read_checkpoint as r
out, two, three = (r.read(n + ".safetensors") for n in ("bn", "bn2", "bn3"))
print(all(out[k] == (three if "num" in k else two)[k] for k in out))
END
run average bn1.safetensors bn2.safetensors bn3.safetensors --on-integer first -o bn.safetensors
$python - <<'END'
import read_checkpoint as r
print(*(r.read(n + ".safetensors")["n.num_batches_tracked"][2][0] for n in ("bn", "bn1")))
END
# an output that is one input is that input, counters too
run average bn1.safetensors bn2.safetensors --alpha 0,1,.5 -o 'bn-{alpha}.safetensors'
checkpoint same bn-0.safetensors bn1.safetensors
checkpoint same bn-1.safetensors bn2.safetensors
run average bn1.safetensors bn2.safetensors --alpha 0 -o bn.safetensors
run average bn1.safetensors bn2.safetensors --alpha 0,1 --dry-run -o 'bn-{alpha}.safetensors'
run average bnf1.safetensors bnf2.safetensors -o bn.safetensors
checkpoint same bn.safetensors bnf2.safetensors
run average bnf1.safetensors bnf2.safetensors --dtype f16 --on-integer first -q -o bn.safetensors
checkpoint cast bn.safetensors bnf1.safetensors

# numbers that are not finite
run average a.safetensors nan.safetensors -o refused.safetensors
run average a.safetensors nan.safetensors --alpha 0,1,.5 -o 'refused-{alpha}.safetensors'
run average a.safetensors nan.safetensors --alpha 0 -o fine.safetensors
run average a.safetensors nan.safetensors --alpha 1 -o copy.safetensors
checkpoint same copy.safetensors nan.safetensors
run average nan.safetensors a.safetensors --rule '*.0.*=0' -o refused.safetensors
run average nan.safetensors a.safetensors --rule '*.1.*=0' -o copy.safetensors
run average a.safetensors nan.safetensors --alpha 1 --dtype f16 -o refused.safetensors
run average a.safetensors nan.safetensors --allow-nan -o nan.out.safetensors
run average a.safetensors big.safetensors --weights 0,2 -o refused.safetensors
run average a.safetensors big.safetensors --dtype f16 -o refused.safetensors
run average nan.safetensors a.safetensors --balance layer-norm -o refused.safetensors
run average a.safetensors nan.safetensors --balance norm --target .5 -o refused.safetensors
run average a.safetensors inf.safetensors --balance layer-norm --target .5 -o refused.safetensors
listing 'refused*'

# number types
run average a.safetensors half.safetensors -o refused.safetensors
run average a.safetensors half.safetensors --dtype bf16 -o bf16.safetensors
checkpoint list bf16.safetensors | cut -d' ' -f1-4
checkpoint linear bf16.safetensors a.safetensors .5 half.safetensors .5
run average odd1.safetensors odd2.safetensors -o odd.safetensors
checkpoint list odd.safetensors | cut -c 1-40
$python - <<'END'
import read_checkpoint as r
one, out = r.read("odd1.safetensors"), r.read("odd.safetensors")
print([k for k in out if out[k] == one[k]], out["scalar"][2].hex(), out["e4"][2].hex())
END
run average odd1.safetensors odd2.safetensors -q --dtype f16 -o odd16.safetensors
checkpoint list odd16.safetensors | cut -d' ' -f1-2
run average odd1.safetensors odd3.safetensors -o refused.safetensors
run average odd1.safetensors odd3.safetensors --on-integer last -q -o odd.safetensors
checkpoint same odd.safetensors odd3.safetensors

# what does not fit, one thing at a time and all at once
run average a.safetensors bent.safetensors -o refused.safetensors
# a head of another shape, taken whole
run average a.safetensors bent.safetensors --rule 'head.*=1' -o bent-head.safetensors
run average a.safetensors bent.safetensors --rule 'head.*=0' -q -o own-head.safetensors
checkpoint list bent-head.safetensors | grep head
checkpoint list bent.safetensors | grep head
checkpoint list own-head.safetensors | grep head
checkpoint list a.safetensors | grep head
run average a.safetensors more.safetensors -o refused.safetensors
run average a.safetensors other.safetensors -o refused.safetensors
run average none.safetensors none.safetensors -o refused.safetensors
run average many.safetensors many2.safetensors -o refused.safetensors
run average a.safetensors all.safetensors b.safetensors --rule 'nothing*=1,2,3' \
    -o gone/refused.safetensors
run average a.safetensors all.safetensors -w 1,2 --rule 'nothing*=1' -o refused.xyz --hash
run average esc.safetensors esc2.safetensors -o refused.safetensors
run average esc.safetensors esc2.safetensors --on-integer first --dry-run -o clean.safetensors
run average esc.safetensors esc2.safetensors --on-integer first --balance layer-norm \
    -o clean.safetensors
run average lost.safetensors a.safetensors gone.pt -o refused.safetensors
run average a.safetensors more.safetensors --on-missing keep -o keep.safetensors
checkpoint list keep.safetensors | cut -d' ' -f1-3
run average a.safetensors more.safetensors --on-missing keep --dtype f16 -o keep16.safetensors
checkpoint list keep16.safetensors | cut -d' ' -f1-2
run average a.safetensors more.safetensors --on-missing drop --json -o drop.safetensors
checkpoint list drop.safetensors | cut -d' ' -f1-2
run average more.safetensors more.safetensors --base a.safetensors -m task -o refused.safetensors
run average more.safetensors more.safetensors --base a.safetensors -m ties --on-missing keep \
    --density 1 -o based.safetensors
checkpoint same based.safetensors more.safetensors
run average more.safetensors more.safetensors --base a.safetensors -m task --on-missing drop -q \
    -o based.safetensors
checkpoint list based.safetensors | cut -d' ' -f1-2
run average a.safetensors a.safetensors -m fisher --fisher a.safetensors \
    --fisher other.safetensors -o refused.safetensors

# where it may not write
cp a.safetensors precious.safetensors
ln precious.safetensors link.safetensors
ln -s precious.safetensors soft.safetensors
run average precious.safetensors precious.safetensors -o precious.safetensors
run average precious.safetensors b.safetensors -o ./link.safetensors
run average soft.safetensors b.safetensors -o precious.safetensors
run average a.safetensors b.safetensors -m task --base precious.safetensors -o precious.safetensors
same precious.safetensors a.safetensors
run average a.safetensors b.safetensors -o a.safetensors/refused.safetensors
run average a.safetensors b.safetensors -n -o gone/refused.safetensors
run average a.safetensors b.safetensors -o refused
run average a.safetensors b.safetensors -o refused.npy
run average a.safetensors b.safetensors --shard-size 1K -o refused.npz

# too large for the disk: found before a byte is written
free=$(df -Pk . | awk 'NR == 2 { print $4 }')
$python - "$free" <<'END'
import json
import struct
import sys

count = (int(sys.argv[1]) * 1024 + (1 << 30)) // 4
header = json.dumps({"w": {"dtype": "F32", "shape": [count], "data_offsets": [0, 4 * count]}})
try:
    with open("huge.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header.encode())
        file.truncate(8 + len(header) + 4 * count)
except OSError:  # no such files here: then what would have been said
    print("$ bang average huge.safetensors huge.safetensors -o refused.safetensors")
    print("bang average: refused.safetensors: N bytes are needed, N are free: make room or choose "
          "another disk\nexit 1")
END
[ "$(wc -c <huge.safetensors)" -lt 1000000 ] ||
    run average huge.safetensors huge.safetensors -o refused.safetensors 2>&1 |
    sed 's/[0-9]\{6,\}/N/g'
rm huge.safetensors
listing '*refused*'

# shards and folders
mkdir pre fine
bang average a.safetensors a.safetensors -q --shard-size 40 -o pre/
cp b.safetensors fine/model.safetensors
echo '{"model_type":"toy"}' >pre/config.json
echo word >pre/vocab.txt
echo '{"model_type":"other"}' >fine/config.json
echo weights >pre/flax_model.msgpack
mkdir pre/onnx pre/.cache pre/1_Pooling fine/other
run average pre fine/ -o mean
find pre mean fine -type f | LC_ALL=C sort
cmp pre/config.json mean/config.json
checkpoint same mean/model.safetensors half.out.safetensors
recipe mean/model.safetensors
run average pre/model.safetensors.index.json fine --json --shard-size 30 -o shards.safetensors
listing 'shards*'
checkpoint same shards.safetensors.index.json half.out.safetensors
run average pre fine -q --alpha 0.3,0.7 -o 'mean-{alpha}'
run average pre fine -o mean.safetensors
rmdir pre/onnx pre/.cache pre/1_Pooling fine/other
find mean-0.3 mean-0.7 -type f | LC_ALL=C sort
run average pre fine -o pre --shard-size 40
run average pre fine -o fine
run average pre fine -o ./pre/ --hash
run average a.safetensors b.safetensors --base pre -m task -o pre
run average pre fine --alpha 0 -q -o pre/beside.safetensors

# other formats, in and out
for name in state_dict.pt state_dict_legacy.pt module.pt types.pt stored.npz weight.npy; do
    bang average "$vectors/$name" "$vectors/$name" --alpha .25 --on-integer first -q \
        -o in.safetensors
    bang convert "$vectors/$name" -q -o plain.safetensors
    checkpoint same in.safetensors plain.safetensors
done
for out in out.npz out.pt; do
    run average a.safetensors b.safetensors -q -o $out
    run average $out $out --alpha 1 -q -o again.safetensors
    checkpoint same again.safetensors half.out.safetensors
done

# the recipe; --hash
run average a.safetensors b.safetensors -q --hash -o hash.safetensors
recipe hash.safetensors | sed 's/"sha256"/\n&/g' | sed -n 's/^"sha256": "\([0-9a-f]*\).*/\1/p' >told
sha256sum a.safetensors b.safetensors | cut -d' ' -f1 >right
cmp told right && echo 'the sums are right'
$python - <<'END'
import hashlib
import json
import struct
import read_checkpoint as r
for n, told in zip("ab", json.loads(r.read_file("hash.safetensors")[1]["bang"])["inputs"]):
    data = open(n + ".safetensors", "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    print(told["file"], told["bytes"] == len(data),
          told["header_sha256"] == hashlib.sha256(data[8:8 + size]).hexdigest())
END
run average a.safetensors b.safetensors c.safetensors -q --method ties --base a.safetensors \
    --density .5 --scope layer --dtype f16 --on-missing drop -o ties.safetensors
recipe ties.safetensors
run average a.safetensors b.safetensors -q --method fisher --fisher b.safetensors \
    --fisher c.safetensors -o fisher.safetensors
recipe fisher.safetensors
run average a.safetensors b.safetensors -q --method dare --base c.safetensors --seed 7 --drop .5 \
    --scale 2 --on-integer last -o dare.safetensors
recipe dare.safetensors
run average a.safetensors b.safetensors -q --balance norm -o balance.safetensors
recipe balance.safetensors

# --dry-run writes nothing; --json; --quiet; the same bytes twice
mkdir dry
run average a.safetensors b.safetensors --dry-run -o dry/out.safetensors
run average a.safetensors b.safetensors --dry-run --json -o dry/out/
run average a.safetensors b.safetensors c.safetensors --dry-run --method stock \
    --base a.safetensors -o dry/out.safetensors
find dry
run average a.safetensors b.safetensors --weights 1,1 --balance norm --json -o json.safetensors
run average a.safetensors b.safetensors --weights 1,1 --quiet -o quiet.safetensors
run average a.safetensors b.safetensors -q --hash -o twice.safetensors
same hash.safetensors twice.safetensors
listing '.?*'

# usage
run average
run average a.safetensors -o refused.safetensors
run average a.safetensors b.safetensors
run average a.safetensors b.safetensors c.safetensors --alpha .5 -o refused.safetensors
run average a.safetensors b.safetensors --alpha .5 --weights 1,2,3 -o refused.safetensors
run average a.safetensors b.safetensors --weights 1,2,3 -o refused.safetensors
run average a.safetensors b.safetensors --weights 1,x --rule 'a=b' --rule 'c' --rule =1 \
    --rule a=1,2,3 --dtype f8 --on-integer any --on-missing some --scope none --balance equal \
    --method mean -o '{alpha}.safetensors'
run average a.safetensors b.safetensors --alpha .5,,1 -o refused.safetensors
run average a.safetensors b.safetensors --alpha nan -o refused.safetensors
run average a.safetensors b.safetensors --alpha .5,1,.5 -o refused.safetensors
run average a.safetensors b.safetensors c.safetensors --method slerp -o refused.safetensors
run average a.safetensors b.safetensors --method slerp --weights 1,1 -o refused.safetensors
run average a.safetensors b.safetensors --method ties --scale 2 -o refused.safetensors
run average a.safetensors b.safetensors --method ties --base c.safetensors --weights 1,-1 \
    --density 0 --rule 'x=-1,1' -o refused.safetensors
run average a.safetensors b.safetensors --base c.safetensors --fisher c.safetensors --score x \
    --scale 2 --density .3 --drop .5 --target 1 --scope layer -o refused.safetensors
run average a.safetensors b.safetensors --method dare --base c.safetensors --base c.safetensors \
    --drop 1 -o refused.safetensors
run average a.safetensors b.safetensors --method stock --base c.safetensors --alpha .5 \
    -o refused.safetensors
run average a.safetensors b.safetensors --balance norm --target -1 -o refused.safetensors
run average a.safetensors b.safetensors --balance norm --method slerp -o refused.safetensors
run average a.safetensors b.safetensors --method greedy --weights .5,.5 -o refused.safetensors
listing '*refused*'

# one input alone: its bytes, integers that differ too
run average i.safetensors j.safetensors --alpha 0,1 -o 'alone-{alpha}.safetensors'
checkpoint same alone-0.safetensors i.safetensors
checkpoint same alone-1.safetensors j.safetensors
run average a.safetensors b.safetensors --method fisher --fisher a.safetensors --fisher b.safetensors \
    --weights 0,1 -q -o alone.safetensors
checkpoint same alone.safetensors b.safetensors

# several alphas: the inputs are read once
for alphas in .5 .25,.5,.75; do
    bang average a.safetensors b.safetensors --alpha "$alphas" --json -o 'pass-{alpha}.safetensors' |
        sed 's/.*\("bytes_read":[0-9]*\).*/\1/'
done
