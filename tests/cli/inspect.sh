# What checkpoints hold, as a table and as JSON; statistics against numpy's.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
clip clip.safetensors depth=1 text_depth=1 dtype=f16 metadata=1
clip hf.safetensors layout=hf ids=1
clip wrapped.safetensors prefix=module.model. depth=1 text_depth=0
$python - <<'END'
import numpy as np
import read_checkpoint as r
r.write("0.safetensors", {"0.weight": np.array([[1, -2, 3], [0.5, np.nan, np.inf]], "<f4"),
                          "0.bias": np.array([-np.inf, np.nan], "<f4"),
                          "2.weight": np.array([[3, 4]], "<f2"), "2.bias": np.zeros(1, "<f4")})
r.write("odd.safetensors", {"a\x1b[31m\n": np.zeros((0, 3), "<f4"), "steps": np.array(7, "<i8"),
                            "ids": np.array([[-3, 2**40]], "<i8")}, {"note": "a\tb", "by": "hand"})
random = np.random.default_rng(5)
r.write("random.safetensors", {"a": random.standard_normal((300, 301)).astype("<f4"),
                               "b": random.standard_normal(40000).astype("<f2"),
                               "c": random.integers(-9, 9, 77)})
END

run inspect --help
run inspect clip.safetensors
run inspect hf.safetensors | head -8
run inspect wrapped.safetensors | head -4
run inspect 0.safetensors --stats
run inspect 0.safetensors --stats --json
run inspect odd.safetensors --stats
run inspect odd.safetensors --json
# long metadata, with more bytes than characters, up to the last column and beyond
$python - <<'END'
import numpy as np
import read_checkpoint as r
r.write("long.safetensors", {"x": np.zeros(1, "<f4")},
        {"a": "0123456789" * 8 + "0123", "b": "0123456789" * 8 + "01234", "c": "äöü" * 40})
END
run inspect long.safetensors
bang inspect long.safetensors --json | grep -o '"metadata.*'
bang inspect random.safetensors --stats --json >random.json
bang inspect random.safetensors --stats --json --threads 1 >again.json
cmp random.json again.json && echo same with one thread
$python - <<'END'
import json
import numpy as np
import read_checkpoint as r
found = {t["name"]: t for t in json.load(open("random.json"))["tensors"]}
for name, (dtype, shape, data) in r.read("random.safetensors").items():
    x = np.frombuffer(data, {"F32": "<f4", "F16": "<f2", "I64": "<i8"}[dtype]).astype("f8")
    want = {"min": x.min(), "max": x.max(), "mean": x.mean(), "norm": np.sqrt((x * x).sum())}
    print(name, found[name]["shape"], found[name]["bytes"], all(
        abs(found[name][k] - v) <= 1e-12 * abs(want["norm"]) for k, v in want.items()))
END

# the size that everybody knows: 149,620,737 parameters
clip b16.safetensors hollow=1 width=768 depth=12 patch=16 grid=14 text_width=512 text_depth=12 \
    context=77 vocabulary=49408 embedding=512
run inspect b16.safetensors | head -5

# refused
run inspect
run inspect clip.safetensors hf.safetensors --max-memory lots
run inspect missing.safetensors
echo hello >text
run inspect text
printf '\211PNG\r\n\032\n picture' >picture.png
run inspect picture.png
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n' >pointer.safetensors
run inspect pointer.safetensors
