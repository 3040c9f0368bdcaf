# What bang diagnose refuses: usage before any file is opened, then all files at once.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
logits() { $python "$here/../make_logits.py" "$@"; }
array() { $python -c "import numpy as np; np.save('$1', $2)"; }
run diagnose
run diagnose x --pre a --pre b --bins 0 --level 2 --list FFG,TTT --files z --weights 0,0 --temperature 1 \
    --fit-temperature q --alphas 0.3,2 --highlight q --label-numbers u --bootstrap -1
run diagnose --classes 1 --set a --pre p --fine f --name k --at 0.3=a --at 0.3=b --at 2=c --at x \
    --at '{alpha}' --set b --pre p --fine f --labels l --at 0.5=q --set a --at 1= --id z \
    --temperature 1,2 --fit-temperature b --alphas 0.1,0.1
run diagnose --pre p --fine f --list FFT --by-class --weights 1,-1 --temperature 0,1
run diagnose --set none --pre p --fine f --set '' --pre p --fine f --set none --pre p --fine f \
    --list FFT --files names
run diagnose --classes 1-3
run diagnose --curve runs.csv --list FFT
run diagnose --bin 3

logits d count=6 classes=3
mkdir folder
run diagnose --pre d/pm.npy --fine d/fm.npy --html folder --csv d/fm.npy
run diagnose --pre d/pm.npy --fine d/fm.npy --html no/where --csv d/none/x.csv
run diagnose --pre d/pm.npy --fine d/fm.npy --html out --csv out
run diagnose --pre d/pm.npy --fine d/fm.npy --html out --csv folder/../out
run diagnose --pre d/pm.npy --fine d/fm.npy --labels d/y.npy --bootstrap 99
run diagnose --pre d/pm.npy --fine d/fm.npy --labels d/y.npy --list ,
run diagnose --pre d/pm.npy --fine d/fm.npy --probabilities --logits

# all that is wrong with files, at once
logits e count=7 classes=3
logits w count=6 classes=4
array ints.npy 'np.arange(18).reshape(6, 3)'
array flat.npy 'np.zeros(18)'
array nan.npy 'np.array([[0, 1, np.nan]] * 6)'
array sure.npy 'np.array([[.2, .3, .5]] * 6)'
array far.npy 'np.array([0, 1, 2, 3, -1, 0])'
array real.npy 'np.array([0., 1, 2, 0, 1, 2])'
run diagnose --set a --labels none.npy --pre d/pm.npy --fine e/fm.npy --avg w/am.npy \
    --set b --labels e/y.npy --pre ints.npy --fine flat.npy --avg nan.npy \
    --set c --labels far.npy --pre sure.npy --fine d/fm.npy \
    --set d --labels real.npy --pre d/pm.npy --fine d/fm.npy
run diagnose --labels d/y.npy --pre d/pm.npy --fine d/fm.npy --probabilities
run diagnose --labels d/y.npy --pre d/pm.npy --fine d/fm.npy --classes 0,5 --class-names none
run diagnose --labels d/y.npy --pre d/pm.npy --fine d/fm.npy --classes 0,1,1
run diagnose --labels d/y.npy --pre d/pm.npy --fine d/fm.npy --classes 0,2-1
printf 'a\nb\n' >names
run diagnose --labels d/y.npy --pre d/pm.npy --fine d/fm.npy --list all --files names
run diagnose --labels d/y.npy --pre d/pm.npy --fine d/fm.npy --list all --files none

# nothing that is read is written over
printf '0\n1\n2\n' >subset
printf 'a\nb\nc\n' >names
seq 6 >files
printf 'name,fine,avg,labels,classes\na,d/pm.npy,d/am.npy,d/y.npy,subset\n' >runs.csv
pictures photos classes=a,b count=3 width=4 height=4
kept() { cksum d/* subset names files runs.csv photos/*/*; }
kept >before
for output in d/y.npy d/./pm.npy d/fm.npy d/am.npy subset names files; do
    for option in html csv; do
        run diagnose --labels d/y.npy --pre d/pm.npy --fine d/fm.npy --avg d/am.npy --classes subset \
            --class-names names --list FFT --files files "--$option" "$output"
    done
done
for output in d/pm.npy d/../d/am.npy d/y.npy subset names runs.csv; do
    run diagnose --curve runs.csv --class-names names --html "$output" --csv out
done
ln -s photos/b/0001.png link
run diagnose --labels d/y.npy --pre d/pm.npy --fine d/fm.npy --list FFT --files photos \
    --csv photos/a/0000.png --html link
kept | cmp before - && echo kept
rm link

# outputs that look like probabilities, and labels too large for any class
array hot.npy 'np.eye(3)[[0, 1, 2, 0, 1, 2]]'
run diagnose --labels d/y.npy --pre hot.npy --fine hot.npy
run diagnose --labels d/y.npy --pre hot.npy --fine hot.npy --logits -q --csv hot.csv
array large.npy 'np.array([0, 1, 2, 0, 1, 2**63 + 5], "u8")'
run diagnose --labels large.npy --pre d/pm.npy --fine d/fm.npy
# a mix beyond all numbers
array huge.npy 'np.where(np.load("d/pm.npy") > 0, 1.7e308, -1.7e308)'
run diagnose --labels d/y.npy --pre huge.npy --fine huge.npy --weights 3,-1 -q --csv hot.csv
# rows that are left out may hold anything
array holes.npy 'np.concatenate([np.load("d/pm.npy"), [[np.nan] * 3]])'
array whole.npy 'np.concatenate([np.load("d/pm.npy"), [[1, 2, 3]]])'
array seven.npy 'np.array([0, 2, 2, 0, 2, 0, 1])'
run diagnose --labels seven.npy --pre holes.npy --fine whole.npy --classes 0,2 -q --csv hot.csv
# a limit on the size of files is an error of writing
(
    ulimit -f 1
    bang diagnose --labels d/y.npy --pre d/pm.npy --fine d/fm.npy -q --html page.html
    echo "exit $?"
) 2>&1 | cat

# the curve
printf 'name,fine,avg\na,50,60\nb,51,61\n' >runs.csv
run diagnose --curve runs.csv
run diagnose --curve runs.csv --highlight c --highlight a
run diagnose --curve runs.csv --highlight a --highlight a
printf 'name,fine\na,50\n' >runs.csv
run diagnose --curve runs.csv
run diagnose --curve none.csv
ls -A
