# Files that mean harm: pickles that call something, indexes and links that lead elsewhere, names
# that a terminal would obey.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"

# pickles: every way to call that pickle itself offers, at every place, in both of PyTorch's files
$python - <<'END'
import functools, operator, os, pickle, runpy, shutil, struct, subprocess, types, zipfile


class Call:
    def __init__(self, function, *arguments, state=None):
        self.how = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self):
        return self.how


touch = "open('ran','w').close()"
calls = {
    "system": Call(os.system, "touch ran"),
    "popen": Call(subprocess.Popen, ["touch", "ran"]),
    "output": Call(subprocess.check_output, ["touch", "ran"]),
    "exec": Call(exec, touch),
    "eval": Call(eval, touch),
    "method": Call(operator.methodcaller, "system"),
    "partial": Call(functools.partial, os.system, "touch ran"),
    "module": Call(runpy.run_path, "evil.py"),
    "remove": Call(shutil.rmtree, "victim"),
    "rename": Call(os.rename, "victim", "gone"),
    "import": Call(__import__, "evil"),
    "open": Call(open, "ran", "w"),
    "spawn": Call(os.spawnlp, os.P_WAIT, "touch", "touch", "ran"),
    "state": Call(types.SimpleNamespace, state={"x": Call(os.system, "touch ran")}),
}
places = {"root": lambda c: c, "value": lambda c: {"model": [1, {"a.weight": c}]},
          "key": lambda c: {(1, c): 2}}
os.mkdir("victim")
open("evil.py", "w").write(touch)
os.mkdir("pickles")
for name, call in calls.items():
    for place, put in places.items():
        for protocol in (0, 4):
            data = pickle.dumps(put(call), protocol)
            path = "pickles/%s-%s-%d" % (name, place, protocol)
            with zipfile.ZipFile(path + ".pt", "w") as file:
                file.writestr(zipfile.ZipInfo("archive/data.pkl"), data)
                file.writestr(zipfile.ZipInfo("archive/version"), "3\n")
            with open(path + "-old.pt", "wb") as file:
                for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
                    file.write(pickle.dumps(value, 2))
                file.write(data + pickle.dumps([], 2))
END
for file in pickles/*.pt; do
    bang inspect "$file" >said 2>&1
    status=$?
    [ $status -eq 1 ] || [ $status -eq 0 ] || echo "$file: exit $status"
    [ "$(wc -l <said)" -eq 1 ] || [ $status -eq 0 ] || echo "$file: not one line"
    ! grep -q '[^[:print:]]' said || echo "$file: not printable"
    [ $status -eq 1 ] || echo "$file: is read"
    if [ -e ran ] || [ ! -d victim ]; then
        echo "$file: ran"
        rm -rf ran
        mkdir -p victim
    fi
done
for file in pickles/system-value-*.pt; do
    bang average "$file" "$file" -o out.safetensors -q 2>/dev/null && echo "$file: averaged"
    bang convert "$file" -o out.safetensors -q 2>/dev/null && echo "$file: converted"
    bang predict --model "$file" --data pickles -o out.npy -q 2>/dev/null && echo "$file: used"
done
[ ! -e ran ] && [ -d victim ] && echo "$(find pickles -name '*.pt' | wc -l) pickles, nothing ran"
cp pickles/system-value-4.pt a.pt
run inspect a.pt

# an index names files beside it, and no others
mkdir model secret
clip secret/s.safetensors depth=1 text_depth=0
for name in ../secret/s.safetensors "$PWD/secret/s.safetensors" model/../../secret/s.safetensors \
    .. '' 'a\b' "$(printf 'a\033[2Jb')" /dev/zero; do
    $python - "$name" <<'END'
import json, sys
json.dump({"weight_map": {"a": sys.argv[1]}}, open("model/model.safetensors.index.json", "w"))
END
    bang inspect model 2>&1 | sed "s|$PWD|HERE|"
done

# names from files, in messages and in tables
$python - <<'END'
import numpy as np
import read_checkpoint as r
evil = "x\x1b]0;owned\x07\x1b[31m\u009b2J\x7f.weight"
r.write("e.safetensors", {evil: np.zeros((2, 3), "<f4"), "b": np.zeros(2, "<f4")}, {evil: evil})
r.write("f.safetensors", {evil: np.zeros((3, 2), "<f4"), "b": np.ones(2, "<f4")})
r.write("g.safetensors", {evil: np.full((2, 3), 1e30, "<f4"), "b": np.ones(2, "<f4")})
END
name=$(printf 'd\033[31m\302\233\377')
mkdir "$name"
{
    bang inspect e.safetensors --stats
    bang inspect e.safetensors --json
    bang diff e.safetensors f.safetensors --json
    bang diff e.safetensors f.safetensors
    bang diff e.safetensors g.safetensors
    bang average e.safetensors f.safetensors -o o.safetensors
    bang average e.safetensors g.safetensors --dry-run -o o.safetensors
    bang average e.safetensors g.safetensors --balance layer-norm -o o.safetensors
    bang convert g.safetensors --dtype f16 -o o.safetensors
    bang convert e.safetensors --to clip-hf -o o.safetensors
    bang convert e.safetensors --dry-run --dtype f16 -o o.safetensors
    bang inspect "$name/none"
    bang predict --model e.safetensors --data "$name" -o o.npy
    bang train --arch mlp --init e.safetensors --data "$name" -o o.safetensors
    bang data preview "$name" -o o.png
} >said 2>&1
wc -l <said | tr -d ' '
LC_ALL=C grep -c "$(printf '[\001-\010\013-\037\177]')" said
LC_ALL=C grep -c "$(printf '\302[\200-\237]')" said
LC_ALL=C grep -c "$(printf '\377')" said

# links among the outputs
clip one.safetensors depth=1 text_depth=0 seed=1
clip two.safetensors depth=1 text_depth=0 seed=2
mkdir out elsewhere
echo mine >elsewhere/notes
ln -s ../elsewhere/notes out/model.safetensors
run average one.safetensors two.safetensors -o out/model.safetensors -q
run average one.safetensors two.safetensors -o out --shard-size 10K -q
cat elsewhere/notes
find out -type l
mkdir run
ln -s ../elsewhere/records run/results.jsonl
run reproduce theory -o run -q --resume
rm run/results.jsonl
ln -s ../elsewhere/notes run/report.html
bang reproduce theory -o run -q && cat elsewhere/notes
find run -type l
ls elsewhere
