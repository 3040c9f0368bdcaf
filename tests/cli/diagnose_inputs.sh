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
save("deep", pre.reshape(n, k, 1))
save("none", pre[:0])
save("y-none", y[:0])
save("no-columns", pre[:, :0])
save("y-zero", y * 0)
# types
save("bytes", np.round(pre).astype("u1"))
save("yes-no", pre > 0)
save("words", np.array([["a", "b"]] * n))
save("objects", np.array([{"a": 1}, None]))
save("pairs", np.zeros(n, [("a", "f4"), ("b", "i4")]))
save("long", pre.astype("longdouble"))
save("y-one-hot", np.eye(k, dtype="i8")[y])
save("y-words", np.array(["cat"] * n))
# numbers
save("nan-last", changed(pre, (n - 1, k - 1), np.nan))
save("nan-all", pre * np.nan)
save("inf", changed(fine, (7, 0), np.inf))
save("minus-inf", changed(fine.astype("f2"), (8, 1), -np.inf))
save("y-huge", changed(y.astype("u8"), 5, 2**63 + 1))
for name, array in (("pre", pre), ("fine", fine), ("avg", avg)):
    save("p-" + name, softmax(array))
save("p-percent", 100 * softmax(pre))
save("p-half", softmax(pre) / 2)
save("p-negative", changed(softmax(pre), (2, 0), -0.1))
save("p-logs", np.log(softmax(pre)))
# more rows than are looked at before the work
m = 5000
many = rng.standard_normal((m, k)).astype("f4")
save("long-y", rng.integers(0, k, m))
save("long-pre", many)
save("long-fine", 2 * many[::-1])
save("long-nan", changed(many, (3333, 1), np.nan))
save("long-nan-last", changed(many, (m - 1, k - 1), np.nan))
save("long-inf", changed(many, (1234, 0), -np.inf))
save("long-p", softmax(many))
save("long-p-bad", changed(softmax(many), (4321, 2), -0.5))
save("long-p-sum", changed(softmax(many), 4322, 0.5))
save("one-row", np.array([[0.25, 0.75]]))
save("y-one", np.array([1]))
# files
whole = open("pre.npy", "rb").read()
open("cut.npy", "wb").write(whole[:-7])
open("cut-header.npy", "wb").write(whole[:40])
open("longer.npy", "wb").write(whole + b"more")
open("empty.npy", "wb").write(b"")
open("text.npy", "w").write("0.1 0.2 0.3\n" * 10)
np.savez("arrays.npz", pre=pre)
with zipfile.ZipFile("model.pt", "w") as file:
    file.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
# curves
open("runs.csv", "w").write("name,fine,avg\na,.5,.6\nb,.55,.62\nc,.6,.63\nd,.61,.64\n")
open("runs-same.csv", "w").write("name,fine,avg\na,.5,.6\nb,.5,.62\nc,.5,.61\nd,.5,.6\n")
open("runs-header.csv", "w").write("a,.5,.6\nb,.55,.62\nc,.6,.63\n")
open("runs-high.csv", "w").write("name,fine,avg\na,50,60\nb,55,162\nc,60,63\n")
open("runs-nan.csv", "w").write("name,fine,avg\na,nan,.6\nb,.55,.62\nc,.6,.63\n")
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
refused pre deep.npy no-columns.npy
of --labels y-none.npy --pre none.npy --fine none.npy

printf '\nTypes\n'
refused pre bytes.npy yes-no.npy words.npy objects.npy pairs.npy long.npy
refused labels y-words.npy y-huge.npy y-one-hot.npy

printf '\nNumbers, also where few look\n'
refused pre nan-last.npy nan-all.npy
refused fine inf.npy minus-inf.npy
of --pre nan-last.npy --fine inf.npy
long() { of --labels long-y.npy --pre long-pre.npy --fine long-fine.npy "$@"; }
long --avg long-nan.npy
long --avg long-nan-last.npy
long --at .3=long-inf.npy
of --pre long-nan.npy --fine long-fine.npy
of --labels long-y.npy --pre long-fine.npy --fine long-nan-last.npy --fit-temperature none
takes 'in an output that is none of the classes' --labels long-y.npy --pre long-pre.npy \
    --fine long-nan.npy --classes 0,2-4

printf '\nProbabilities\n'
of --labels y.npy --pre p-pre.npy --fine p-fine.npy --avg p-avg.npy
of --labels y.npy --pre p-pre.npy --fine fine.npy --probabilities
of --labels y.npy --pre p-percent.npy --fine p-fine.npy --probabilities
of --labels y.npy --pre p-half.npy --fine p-negative.npy --probabilities
of --labels long-y.npy --pre long-p.npy --fine long-p-bad.npy --probabilities
of --labels long-y.npy --pre long-p.npy --fine long-p-sum.npy --probabilities
takes probabilities --labels y.npy --pre p-pre.npy --fine p-fine.npy --probabilities
takes 'their logarithms' --labels y.npy --pre p-logs.npy --fine fine.npy
takes 'one row that sums to 1' --labels y-one.npy --pre one-row.npy --fine one-row.npy

printf '\nFiles\n'
refused pre cut.npy cut-header.npy longer.npy empty.npy text.npy model.pt folder
refused labels cut-header.npy arrays.npz folder
of --labels '' --pre pre.npy --fine fine.npy
of --labels y.npy --pre '' --fine fine.npy --avg '' --classes '' --at .5= --class-names ''
of --labels y.npy --pre pre.npy --fine fine.npy --classes ''
takes 'a comma at the end' --labels y.npy --pre pre.npy --fine fine.npy --classes '0,1,'

printf '\nSets\n'
of --set a --labels y.npy --pre pre.npy --fine fine.npy --at .5=avg.npy --set b --labels y.npy \
    --pre pre.npy --fine fine.npy --at .4=avg.npy
of --set a --labels y.npy --pre pre.npy --fine fine.npy --set b --labels y.npy \
    --pre pre.npy --fine fine.npy --at 'avg{alpha}.npy'
of --labels y.npy --pre pre.npy --fine fine.npy --id b --fit-temperature c --list FFT,FTX
of --pre pre.npy --fine fine.npy --fit-temperature data --list FFT

printf '\nCurves\n'
for runs in runs-same runs-header runs-high runs-nan; do
    run diagnose --quiet --curve $runs.csv
done
run diagnose --quiet --curve runs.csv --highlight a --highlight b
