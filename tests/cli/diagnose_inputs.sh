# Files that bang diagnose takes although they are unusual, and those that it refuses: one line
# for each that says what is wrong, why, and what to do.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
cat >make.py <<'MAKE'
import zipfile

import numpy as np

rng = np.random.default_rng(1)
n, k = 40, 5
y = rng.integers(0, k, n)
pre, fine, avg = (rng.standard_normal((n, k)).astype("f4") * 3 for _ in range(3))


def save(name, array):
    np.save(name + ".npy", array)


def softmax(z):
    e = np.exp(z.astype("f8"))
    return e / e.sum(axis=1, keepdims=True)


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


save("y", y)
save("pre", pre)
save("fine", fine)
save("avg", avg)
# shapes
save("short", pre[:30])
save("narrow", pre[:, :4])
save("y-short", y[:39])
save("flat", pre.ravel())
save("deep", pre.reshape(n, k, 1))
save("none", pre[:0])
save("y-none", y[:0])
save("no-columns", pre[:, :0])
save("one-column", pre[:, :1])
save("y-zero", y * 0)
# types
save("whole", np.round(pre).astype("i4"))
save("bytes", np.round(pre).astype("u1"))
save("yes-no", pre > 0)
save("complex", pre.astype("c8"))
save("words", np.array([["a", "b"]] * n))
save("objects", np.array([{"a": 1}, None]))
save("pairs", np.zeros(n, [("a", "f4"), ("b", "i4")]))
save("long", pre.astype("longdouble"))
save("y-float", y.astype("f4"))
save("y-one-hot", np.eye(k, dtype="i8")[y])
save("y-one-hot-float", np.eye(k)[y])
save("y-column", y[:, None])
save("y-yes-no", y > 2)
save("y-words", np.array(["cat"] * n))
# numbers
save("nan", changed(pre, (3, 2), np.nan))
save("nan-last", changed(pre, (n - 1, k - 1), np.nan))
save("nan-all", pre * np.nan)
save("inf", changed(fine, (7, 0), np.inf))
save("minus-inf", changed(fine.astype("f2"), (8, 1), -np.inf))
save("y-high", changed(y, 39, 5))
save("y-low", changed(y, 0, -1))
save("y-huge", changed(y.astype("u8"), 5, 2**63 + 1))
save("y-from-one", y + 1)
for name, array in (("pre", pre), ("fine", fine), ("avg", avg)):
    save("p-" + name, softmax(array))
save("p-percent", 100 * softmax(pre))
save("p-half", softmax(pre) / 2)
save("p-negative", changed(softmax(pre), (2, 0), -0.1))
save("p-logs", np.log(softmax(pre)))
# files
whole = open("pre.npy", "rb").read()
open("cut.npy", "wb").write(whole[:-7])
open("cut-header.npy", "wb").write(whole[:40])
open("longer.npy", "wb").write(whole + b"more")
open("empty.npy", "wb").write(b"")
open("text.npy", "w").write("0.1 0.2 0.3\n" * 10)
open("table.csv", "w").write("0.1,0.2,0.3\n" * 10)
np.savez("arrays.npz", pre=pre)
with zipfile.ZipFile("model.pt", "w") as file:
    file.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
# subsets
save("subset-float", np.array([0.0, 1.0]))
save("subset-twice", np.array([0, 1, 1]))
open("subset-words.txt", "w").write("cat\ndog\n")
open("subset-empty.txt", "w").write("\n")
open("names.txt", "w").write("a\nb\nc\nd\ne\n")
open("names-few.txt", "w").write("a\nb\n")
open("map.json", "w").write('{"name":"m","outputs":9,"images":0,"border":0,'
                            '"classes":[{"folder":"a","outputs":[8]}]}')
open("map-broken.json", "w").write('{"name":')
# curves
open("runs.csv", "w").write("name,fine,avg\na,.5,.6\nb,.55,.62\nc,.6,.63\nd,.61,.64\n")
open("runs-two.csv", "w").write("name,fine,avg\na,.5,.6\nb,.55,.62\n")
open("runs-same.csv", "w").write("name,fine,avg\na,.5,.6\nb,.5,.62\nc,.5,.61\nd,.5,.6\n")
open("runs-header.csv", "w").write("a,.5,.6\nb,.55,.62\nc,.6,.63\n")
open("runs-word.csv", "w").write("name,fine,avg\na,.5,high\nb,.55,.62\nc,.6,.63\n")
open("runs-short.csv", "w").write("name,fine,avg\na,.5\nb,.55,.62\nc,.6,.63\n")
open("runs-high.csv", "w").write("name,fine,avg\na,50,60\nb,55,162\nc,60,63\n")
open("runs-low.csv", "w").write("name,fine,avg\na,-.5,.6\nb,.55,.62\nc,.6,.63\n")
open("runs-nan.csv", "w").write("name,fine,avg\na,nan,.6\nb,.55,.62\nc,.6,.63\n")
open("runs-quote.csv", "w").write('name,fine,avg\n"a,.5,.6\nb,.55,.62\n')
open("runs-files.csv", "w").write("name,fine,avg,labels\na,fine.npy,away.npy,y.npy\n"
                                  "b,nan.npy,avg.npy,y-high.npy\n")
MAKE
$python make.py
mkdir folder
of() { run diagnose --quiet --bootstrap 0 "$@"; }
# takes WHAT ARGUMENT...: it must work; the accuracy of pre is shown
takes() {
    printf '%s: ' "$1"
    shift
    bang diagnose --quiet --bootstrap 0 --json "$@" | sed 's/.*"accuracy":{"pre":\([^,]*\).*/\1/'
}
# refused OPTION FILE...: each file in the place of that option's
refused() {
    option=$1
    shift
    for file; do
        set -- --labels y.npy --pre pre.npy --fine fine.npy --avg avg.npy
        case $option in
        labels) shift 2 ;;
        pre) set -- --labels y.npy --fine fine.npy --avg avg.npy ;;
        avg) set -- --labels y.npy --pre pre.npy --fine fine.npy ;;
        fine) set -- --labels y.npy --pre pre.npy --avg avg.npy ;;
        esac
        of "--$option" "$file" "$@"
    done
}

printf '\nShapes\n'
refused pre short.npy narrow.npy flat.npy deep.npy none.npy no-columns.npy one-column.npy
refused avg narrow.npy
refused labels y-short.npy y-one-hot.npy y-one-hot-float.npy y-none.npy
of --labels y-none.npy --pre none.npy --fine none.npy
of --labels y-zero.npy --pre one-column.npy --fine one-column.npy
takes 'labels as a column' --labels y-column.npy --pre pre.npy --fine fine.npy

printf '\nTypes\n'
refused pre whole.npy bytes.npy yes-no.npy complex.npy words.npy objects.npy pairs.npy long.npy
refused labels y-float.npy y-yes-no.npy y-words.npy

printf '\nNumbers\n'
refused pre nan.npy nan-last.npy nan-all.npy
refused fine inf.npy minus-inf.npy
refused avg nan-last.npy
refused labels y-high.npy y-low.npy y-huge.npy y-from-one.npy
of --pre nan-last.npy --fine inf.npy

printf '\nProbabilities\n'
of --labels y.npy --pre p-pre.npy --fine p-fine.npy --avg p-avg.npy
of --labels y.npy --pre pre.npy --fine p-fine.npy
of --labels y.npy --pre p-pre.npy --fine fine.npy --probabilities
of --labels y.npy --pre p-percent.npy --fine p-fine.npy --probabilities
of --labels y.npy --pre p-half.npy --fine p-fine.npy --probabilities
of --labels y.npy --pre p-negative.npy --fine p-fine.npy --probabilities
takes probabilities --labels y.npy --pre p-pre.npy --fine p-fine.npy --probabilities
takes logarithms --labels y.npy --pre p-logs.npy --fine fine.npy
takes logits --labels y.npy --pre pre.npy --fine fine.npy

printf '\nFiles\n'
refused pre cut.npy cut-header.npy longer.npy empty.npy text.npy table.csv arrays.npz model.pt folder away.npy
refused labels cut-header.npy away.npy text.npy arrays.npz

printf '\nSubsets\n'
for subset in 0,9 0,0 3-1 a,b '' '0,1,' subset-float.npy subset-twice.npy subset-words.txt \
    subset-empty.txt map.json map-broken.json away.txt pre.npy; do
    of --labels y.npy --pre pre.npy --fine fine.npy --classes "$subset"
done
of --labels y.npy --pre pre.npy --fine fine.npy --classes subset-words.txt --class-names names.txt
of --labels y.npy --pre pre.npy --fine fine.npy --class-names names-few.txt --list FFT
of --labels y.npy --pre pre.npy --fine fine.npy --classes 0,2 --label-numbers places
of --labels y-high.npy --pre pre.npy --fine fine.npy --classes 0,2
of --labels y-low.npy --pre pre.npy --fine fine.npy --classes 0,2
of --labels y-zero.npy --pre pre.npy --fine fine.npy --classes 1,2 --label-numbers outputs

printf '\nSets\n'
of --set a --labels y.npy --pre pre.npy --fine fine.npy --at .5=avg.npy --set b --labels y.npy \
    --pre pre.npy --fine fine.npy --at .4=avg.npy
of --set a --labels y.npy --pre pre.npy --fine fine.npy --set a --pre pre.npy --fine fine.npy
of --set a --labels y.npy --pre nan.npy --fine short.npy --set b --labels y-high.npy \
    --pre away.npy --fine fine.npy
of --labels y.npy --pre pre.npy --fine fine.npy --id b --fit-temperature c --list FFT,FTX

printf '\nCurves\n'
for runs in runs-two runs-same runs-header runs-word runs-short runs-high runs-low runs-nan \
    runs-quote runs-files away; do
    run diagnose --quiet --curve $runs.csv
done
run diagnose --quiet --curve runs.csv --highlight z
run diagnose --quiet --curve runs.csv --highlight a --highlight b
