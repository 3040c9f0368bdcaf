# One CLIP in its layouts, number types and files; numpy says whether it is right.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
clip a.safetensors dtype=f16 metadata=1
clip hf.safetensors dtype=f16 metadata=1 layout=hf
clip ids.safetensors layout=hf ids=1
clip plain.safetensors
same() { cmp "$1" "$2" && echo "$1 and $2 are the same, byte for byte"; }

run convert --help
run convert a.safetensors --to clip-hf -o a_hf.safetensors
same a_hf.safetensors hf.safetensors
run convert a_hf.safetensors --to clip-openai -o back.safetensors
same back.safetensors a.safetensors
run convert hf.safetensors --to clip-open_clip -q -o open_clip.safetensors
same open_clip.safetensors a.safetensors
run convert a.safetensors -o copy.safetensors --json | sed 's/"seconds":[^,]*/"seconds":S/'
same copy.safetensors a.safetensors

# position_ids: left out, noted, made again
run convert ids.safetensors --to clip-openai -o no_ids.safetensors
checkpoint same no_ids.safetensors plain.safetensors
checkpoint metadata no_ids.safetensors
run convert no_ids.safetensors --to clip-hf -o with_ids.safetensors
same with_ids.safetensors ids.safetensors

# wrappers go, a head stays
$python - <<'END'
import read_checkpoint as r
tensors = {"image_encoder.model." + k: v for k, v in r.read("plain.safetensors").items()
           if k.startswith("visual.")}
tensors["classification_head.weight"] = ("F32", (2, 6), bytes(range(48)))
r.write("tuned.safetensors", tensors)
END
run convert tuned.safetensors --to clip-hf -o tuned_hf.safetensors
run convert tuned_hf.safetensors --to clip-openai -q -o tuned_openai.safetensors
checkpoint list tuned_openai.safetensors | cut -d' ' -f1 | grep -v resblocks

# number types
for type in f32 f16 bf16; do
    run convert a.safetensors --dtype $type -q -o $type.safetensors
    checkpoint list $type.safetensors | cut -d' ' -f2 | sort | uniq -c | tr -s ' '
    checkpoint cast $type.safetensors a.safetensors
done
run convert ids.safetensors --to clip-openai --dtype bf16 -q -o ids_bf16.safetensors
run convert no_ids.safetensors --dtype bf16 -q -o other.safetensors
same ids_bf16.safetensors other.safetensors
$python - <<'END'
import numpy as np
import read_checkpoint as r
x = np.array([65519, -65520, 1e30, np.inf, np.nan, 1, 3e-8], "<f4")
r.write("large.safetensors", {"x": x, "y": np.ones(3, "<f4"), "n": np.array([70000], "<i8")})
END
run convert large.safetensors --dtype f16 -o small.safetensors
run convert large.safetensors --dtype bf16 -o large_bf16.safetensors
checkpoint cast small.safetensors large.safetensors
checkpoint cast large_bf16.safetensors large.safetensors
run inspect small.safetensors --stats

# shards, an index, a folder; memory and threads change nothing
run convert a.safetensors --shard-size 4K -o shards.safetensors.index.json
checkpoint same shards.safetensors.index.json a.safetensors
run convert shards.safetensors.index.json --threads 1 --max-memory 100M -q -o joined.safetensors
checkpoint same joined.safetensors a.safetensors
run convert shards.safetensors.index.json --to clip-hf --shard-size 2K -q -o folder/
ls folder
checkpoint same folder/model.safetensors.index.json hf.safetensors
run convert folder --to clip-openai -q -o again.safetensors
checkpoint same again.safetensors a.safetensors

run convert ids.safetensors --to clip-openai --dry-run -o never.safetensors | grep -v 'resblocks.[12]'
[ ! -e never.safetensors ] && echo nothing was written

# refused, with all that is wrong
$python - <<'END'
import read_checkpoint as r
tensors = r.read("plain.safetensors")
for name in ("visual.ln_pre.bias", "transformer.resblocks.1.attn.in_proj_weight"):
    del tensors[name]
tensors["visual.proj"] = ("F32", (6, 8), tensors["visual.proj"][2])
r.write("broken.safetensors", tensors)
END
run convert broken.safetensors --to clip-hf -o x.safetensors
run convert large.safetensors --to clip-hf -o x.safetensors
run convert
run convert a.safetensors b.safetensors -o a.safetensors --to vit --dtype f8 --shard-size -1
run convert a.safetensors -o y.safetensors --shard-size 4iB
run convert a.safetensors -o x.txt
run convert a.safetensors -o missing/x.safetensors
ls x* 2>/dev/null

# an input stays what it is, however it is named
cp a.safetensors precious.safetensors
ln precious.safetensors hard.safetensors
ln -s precious.safetensors soft.safetensors
for out in precious.safetensors ./precious.safetensors hard.safetensors soft.safetensors; do
    run convert precious.safetensors --dtype f32 -o $out
done
run convert shards.safetensors.index.json -o shards-00002-of-00002.safetensors
run convert folder -o folder/model.safetensors.index.json --shard-size 1KiB --dry-run
run convert folder/model-00001-of-00004.safetensors -o folder
same precious.safetensors a.safetensors
checkpoint same folder/model.safetensors.index.json hf.safetensors

# what a folder held before does not stay in force, nor lie about
echo notes >folder/notes.txt
run convert a.safetensors -q -o folder
ls folder
checkpoint same folder/model.safetensors a.safetensors
run convert hf.safetensors --shard-size 3KB -q -o folder
run convert hf.safetensors --shard-size 4KiB -q -o folder
mkdir folder/onnx
run convert folder -o again/
rm -r folder/onnx again
ls folder
checkpoint same folder/model.safetensors.index.json hf.safetensors
bang average hf.safetensors hf.safetensors -q -o folder/
ls folder

# a folder to a folder: what stands beside the weights comes along
mkdir in
cp hf.safetensors in/model.safetensors
cp hf.safetensors in/other.bin
echo '{}' >in/config.json
run convert in --dtype bf16 -o out
ls out
run convert in -o one.safetensors -q
same one.safetensors hf.safetensors

# from other formats
$python - <<'END'
import numpy as np
import read_checkpoint as r
tensors = {k: np.frombuffer(data, "<f4").reshape(shape)
           for k, (_, shape, data) in r.read("plain.safetensors").items()}
np.savez_compressed("plain.npz", **{"module." + k: v for k, v in tensors.items()})
END
run convert plain.npz --to clip-openai -o from_npz.safetensors
same from_npz.safetensors plain.safetensors
cp "$here/../data/checkpoints/state_dict.pt" torch.pt
run convert torch.pt -o torch.safetensors
checkpoint metadata torch.safetensors
run convert torch.pt --dtype f16 -q -o torch_f16.safetensors
run convert torch.safetensors --dtype f16 -q -o again_f16.safetensors
same torch_f16.safetensors again_f16.safetensors
run convert bf16.safetensors -o bf16.npz
$python - <<'END'
import numpy as np
import read_checkpoint as r
r.write("one.safetensors", {"x": np.array([1e30, 1], "<f4")})
END
run convert one.safetensors --dtype f16 -q -o one_f16.safetensors

# tensors come in the order of the state_dict, whatever that of the bytes is
$python - <<'END'
import zipfile
with zipfile.ZipFile("torch.pt") as given, zipfile.ZipFile("turned.pt", "w") as out:
    for name in reversed(given.namelist()):
        out.writestr(name, given.read(name))
END
run inspect turned.pt | tail -3
run convert turned.pt -q -o written.pt
run inspect written.pt | tail -3
run convert turned.pt -q -o turned.safetensors
same turned.safetensors torch.safetensors
