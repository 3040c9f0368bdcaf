# What bang diagnose reads: kinds of files, subsets of the classes, labels, points of a curve.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
array() { $python -c "import numpy as np; np.save('$1', $2)"; }
# same NAME ARGUMENT...: prints whether the JSON is that of the first call since first.json was
# removed; but for what differs by right, and for sums in another order
same() {
    name=$1
    shift
    bang diagnose --bootstrap 0 --json "$@" >some.json
    [ -f first.json ] || cp some.json first.json
    if [ -s some.json ] && cmp -s first.json some.json; then
        echo "$name: equal"
        return
    fi
    $python - "$name" <<'END'
import json
import sys


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(
            same(a[k], b[k]) for k in a if k not in ("left_out", "outputs", "notes"))
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return abs(a - b) < 1e-12 if isinstance(a, float) and isinstance(b, float) else a == b


alike = same(json.load(open("first.json")), json.load(open("some.json")))
print(f"{sys.argv[1]}: {'the same' if alike else 'other'}")
END
}
# what goes to standard error
notes() { bang diagnose --bootstrap 0 "$@" 2>&1 >/dev/null | cat; }

# numbers that an f2 has, so that every type holds the same
$python - <<'END'
import numpy as np
r = np.random.RandomState(1)
y = r.randint(6, size=90)
for name, strength in ("pm", 1), ("fm", 2), ("am", 2.5):
    z = np.round(4 * (strength * np.eye(6)[y] + r.standard_normal((90, 6)))) / 4
    for type in "<f2", ">f2", "<f4", ">f4", "<f8", ">f8":
        np.save(f"{name}{type[1:]}{'big' if type[0] == '>' else ''}.npy", z.astype(type))
    np.save(name + "F.npy", np.asfortranarray(z.astype(">f4")))
    np.save(name + ".npy", z)
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    np.save(name + "p.npy", p)
    np.save(name + "-135.npy", z[np.isin(y, [1, 3, 5])][:, [1, 3, 5]])
    np.save(name + "-531.npy", z[np.isin(y, [1, 3, 5])][:, [5, 3, 1]])
    np.save(name + "-map.npy", np.stack([z[:, [0, 4]].max(1), z[:, 2]], 1)[np.isin(y, [0, 2, 4])])
    np.save(name + "-kept.npy", z[np.isin(y, [1, 3, 5])])
for type in "u1", "i1", "<u2", ">i2", "<u4", ">i4", "<u8", ">i8":
    np.save(f"y{type}.npy", y.astype(type))
np.save("y.npy", y)
np.save("y-column.npy", y[:, None])
kept = y[np.isin(y, [1, 3, 5])]
np.save("y-kept.npy", kept)
np.save("y-135.npy", (kept - 1) // 2)
np.save("y-531.npy", 2 - (kept - 1) // 2)
np.save("y-map.npy", (y[np.isin(y, [0, 2, 4])] == 2).astype(int))
END
three="--pre pm.npy --fine fm.npy --avg am.npy"

echo "# types, orders"
# shellcheck disable=SC2086
{
    same f8 --labels y.npy $three
    for type in f2 f2big f4 f4big f8big F; do
        same $type --labels y.npy --pre pm$type.npy --fine fm$type.npy --avg am$type.npy
    done
    for type in u1 i1 '<u2' '>i2' '<u4' '>i4' '<u8' '>i8' -column; do
        same "y$type" --labels "y$type.npy" $three
    done
    same file --labels y.npy --pre pm.npy --fine fm.npy --avg /dev/stdin <am.npy
    # shellcheck disable=SC2002
    cat am.npy | same pipe --labels y.npy --pre pm.npy --fine fm.npy --avg /dev/stdin
}
# probabilities: the same but for roundings
cp first.json logits.json
bang diagnose --bootstrap 0 --json --labels y.npy --probabilities --pre pmp.npy --fine fmp.npy \
    --avg amp.npy >probabilities.json
$python - <<'END'
import json
a, b = json.load(open("logits.json")), json.load(open("probabilities.json"))
print(all(abs(a["nll"][k] - b["nll"][k]) < 1e-9 for k in ("pre", "fine", "avg", "ose")),
      a["groups"] == b["groups"], a["accuracy"] == b["accuracy"])
END

echo "# subsets"
rm first.json
printf '1\n3\n5\n' >numbers.txt
printf 'c0\nc1\nc2\nthe third, c3\nn\tfour\nc5\n' >names.txt
printf 'c1, 3\r\nc5\r\n' >some.txt
printf 'c1\nthe third, c3\nc5\n' >named.txt
array numbers.npy '[1, 3, 5]'
array turned.npy '[5, 3, 1]'
cat >map.json <<'END'
{"name": "m", "outputs": 6, "images": 0, "border": 0,
 "classes": [{"folder": "a", "outputs": [0, 4]}, {"folder": "b", "outputs": [2]}]}
END
cat >odd.json <<'END'
{"name": "m", "outputs": 6, "images": 0, "border": 0,
 "classes": [{"folder": "a", "outputs": [1]}, {"folder": "b", "outputs": [3]},
             {"folder": "c", "outputs": [5]}]}
END
kept="--pre pm-kept.npy --fine fm-kept.npy --avg am-kept.npy"
# shellcheck disable=SC2086
{
    same sliced --labels y-135.npy --pre pm-135.npy --fine fm-135.npy --avg am-135.npy
    for classes in 1,3,5 '1 3,5-5' numbers.txt numbers.npy odd.json; do
        same "$classes, places" --labels y-135.npy $kept --classes "$classes"
        same "$classes, outputs" --labels y-kept.npy $kept --classes "$classes"
        same "$classes, others left out" --labels y.npy $three --classes "$classes"
    done
    for classes in some.txt named.txt; do
        same $classes --labels y-135.npy $kept --classes $classes --class-names names.txt
    done
    rm first.json
    same turned --labels y-531.npy --pre pm-531.npy --fine fm-531.npy --avg am-531.npy
    for classes in 5,3,1 turned.npy; do
        same "$classes, places" --labels y-531.npy $kept --classes $classes
        same "$classes, outputs" --labels y-kept.npy $kept --classes $classes \
            --label-numbers outputs
    done
    rm first.json
    same mapped --labels y-map.npy --pre pm-map.npy --fine fm-map.npy --avg am-map.npy
    same map.json --labels y.npy $three --classes map.json --label-numbers outputs
    bang diagnose --json --labels y.npy $three --classes map.json | cut -d, -f 2-5
    # in the list, classes have their names
    bang diagnose --bootstrap 0 --quiet --labels y-135.npy $kept --classes 1,3,5 \
        --class-names names.txt --list TFT | sed -n '/^TFT:/,/^$/p'
    bang diagnose --bootstrap 0 --quiet --labels y.npy $three --classes map.json --list TFT |
        sed -n '/^TFT:/,/^$/p'
    bang diagnose --bootstrap 0 --quiet --labels y.npy $three --classes map.json \
        --class-names names.txt --list TFT | sed -n '/^TFT:/,/^$/p'
}
echo "# notes"
# shellcheck disable=SC2086
{
    notes --labels y.npy $three --classes 1,3,5
    array low.npy 'np.minimum(np.load("y.npy"), 2)'
    notes --labels low.npy $three --classes 2,1,0
    notes --labels low.npy $three --classes 0-2
    notes --set a --pre pm.npy --fine pm.npy --set b --labels y.npy $three --at 0.5=fm.npy \
        --set c --labels y.npy --pre pm.npy --fine fm.npy --avg fm.npy --at 0.5=am.npy
    notes --labels y.npy --pre pm.npy --fine fm.npy --at 0.5=am.npy --classes 0,1,2,3,4,5 --quiet
}

echo "# subsets that are none"
printf 'x\n' >x.txt
printf '\001\002\0' >binary
array mask.npy '[True, False, True, False, True, False]'
array reals.npy '[1., 2.]'
array square.npy '[[1, 2], [3, 4]]'
array far.npy '[1, 9, -3]'
array huge.npy 'np.array([2**63], "u8")'
sed 's/"outputs": 6/"outputs": 7/' map.json >other.json
printf '{"name": 1' >bad.json
# shellcheck disable=SC2086
{
    for classes in 0,6 3 1,1 5-3 x.txt none.txt binary mask.npy reals.npy square.npy far.npy \
        huge.npy other.json bad.json pm.npy .; do
        run diagnose --labels y.npy $three --classes $classes
    done
    run diagnose --labels y.npy $three --classes x.txt --class-names x.txt
    run diagnose --labels y.npy $three --classes 1,3 --label-numbers places
    array zeros.npy 'np.zeros(90, int)'
    run diagnose --labels zeros.npy $three --classes 1,3 --label-numbers outputs
    sed 's/\[2\]/[0]/' map.json >shared.json
    array two.npy 'np.where(np.arange(90) == 7, 0, 4)'
    run diagnose --labels two.npy $three --classes shared.json
}

echo "# labels that are none"
# shellcheck disable=SC2086
{
    array one-hot.npy 'np.eye(6)[np.load("y.npy")]'
    array real.npy 'np.load("y.npy").astype("f4")'
    array truth.npy 'np.load("y.npy") > 2'
    array short.npy 'np.load("y.npy")[:80]'
    array row.npy 'np.load("y.npy")[None]'
    array from1.npy 'np.load("y.npy") + 1'
    array none.npy 'np.where(np.load("y.npy") == 3, -1, np.load("y.npy"))'
    array far.npy 'np.where(np.arange(90) % 40 == 5, 10**6, 1)'
    printf '1\n2\n' >labels.txt
    for labels in one-hot real truth short row from1 none far; do
        run diagnose --labels $labels.npy $three
    done
    run diagnose --labels labels.txt $three
    run diagnose --labels . $three
}

echo "# logits that are none, all sets at once"
array cut.npy 'np.zeros((90, 6))'
truncate -s -1 cut.npy
array wide.npy 'np.zeros((90, 7))'
array tall.npy 'np.zeros((91, 6))'
array both.npy 'np.zeros((91, 7))'
array empty.npy 'np.zeros((0, 6))'
array thin.npy 'np.zeros((90, 1))'
array complex.npy 'np.zeros((90, 6), "c8")'
array flat.npy 'np.zeros(540)'
array infinite.npy 'np.full((90, 6), np.inf)'
$python -c "import numpy as np; np.savez('arrays.npz', np.zeros((90, 6)))"
run diagnose --set a --labels y.npy --pre none/pm.npy --fine cut.npy --avg arrays.npz \
    --set b --labels y.npy --pre pm.npy --fine wide.npy --avg tall.npy --at 0.3=both.npy \
    --set c --labels y.npy --pre empty.npy --fine fm.npy \
    --set d --labels y.npy --pre thin.npy --fine thin.npy \
    --set e --labels none.npy --pre complex.npy --fine y.npy --avg labels.txt \
    --set f --labels short.npy --pre infinite.npy --fine flat.npy --avg am.npy --classes 1,1 \
    --set g --labels y.npy --pre pmp.npy --fine fm.npy --classes 1,1
run diagnose --labels y.npy --pre pm.npy --fine fm.npy --probabilities --class-names x.txt

echo "# a curve"
mkdir runs
cp pm.npy fm.npy am.npy runs
cp y.npy runs/labels.npy
cat >runs/files.csv <<END
name,set,fine,avg,labels,classes,lr
"a, b",all,pm.npy,am.npy,labels.npy,,1
"a, b",some,pm.npy,am.npy,labels.npy,"1,3,5",1
c,all,fm.npy,am.npy,labels.npy,,2
c,some,fm.npy,am.npy,labels.npy,../numbers.txt,2
d,all,am.npy,fm.npy,$PWD/y.npy,,3
d,some,am.npy,fm.npy,$PWD/y.npy,../odd.json,3
END
bang diagnose --curve runs/files.csv --json >curve.json
$python - <<'END'
import json
import numpy as np
y = np.load("y.npy")
some = np.isin(y, [1, 3, 5])


def accuracy(name):
    z = np.load(name + ".npy")
    part = (2 * z[some][:, [1, 3, 5]].argmax(1) + 1 == y[some]).mean()
    return ((z.argmax(1) == y).mean() + part) / 2


points = json.load(open("curve.json"))["curve"]["points"]
for point, (name, fine, avg) in zip(points, [("a, b", "pm", "am"), ("c", "fm", "am"),
                                             ("d", "am", "fm")]):
    print(point["name"] == name, abs(point["fine"] - accuracy(fine)) < 1e-15,
          abs(point["avg"] - accuracy(avg)) < 1e-15)
END
notes --curve runs/files.csv
printf 'name,fine,avg,epochs\na,50,60,3\nb,51,61,3\nc,52,0.5,3\n' >percent.csv
notes --curve percent.csv
printf 'name,fine,avg\na,.5,.625\nb,.25,.5\nc,.75,1\n' >fractions.csv
bang diagnose --curve fractions.csv --json | grep -o '"points":\[[^]]*\]'
cat >runs/bad.csv <<END
name,fine,avg,labels,classes
a,none.npy,../wide.npy,labels.npy,7
b,fm.npy,am.npy,../real.npy,
c,pm.npy,../pmp.npy,../short.npy,0-2
d,fm.npy,../tall.npy,labels.npy,nowhere.txt
END
run diagnose --curve runs/bad.csv --set a --labels none.npy --pre pm.npy --fine fm.npy
printf 'name,fine,avg\na,x,0.5\nb,0.5\n"c\nd",-1,2\na,1,1\n"e,1,1\n' >bad.csv
run diagnose --curve bad.csv
printf 'n,fine,avg,fine\n' >bad.csv
run diagnose --curve bad.csv
printf 'name,fine,avg\n\377,1,1\n' >bad.csv
run diagnose --curve bad.csv
run diagnose --curve pm.npy
