# Greedy soup with scorers whose answers are known beforehand.
# shellcheck source=/dev/null disable=SC2154
. "$here/average.inc"
$python - <<'END'
import numpy as np
import read_checkpoint as r
f = np.float32
for name, value, tracked in (("a", 0, 1), ("b", 8, 2), ("c", 4, 3), ("d", 1, 4), ("it's c", 4, 3)):
    r.write(name + ".safetensors", {"x": np.full(3, value, f), "bn.running_mean": np.ones(1, f),
                                    "bn.num_batches_tracked": np.array(tracked)})
END
# The score is minus the distance of the first number from the target.
cat >score.py <<'END'
import sys
import numpy as np
import read_checkpoint as r
target, path = float(sys.argv[1]), sys.argv[2]
if path.endswith("/") or "." not in path.rsplit("/", 1)[-1][1:]:
    path += "/model.safetensors"
x = np.frombuffer(r.read(path)["x"][2], "<f4")
print("first line: 99")
print(f"score={-abs(float(x[0]) - target):.6f}\n")
END
score="$python score.py"
listing() { find . -mindepth 1 -name "$1" | LC_ALL=C sort; }
first() {
    $python -c 'import sys, numpy as np, read_checkpoint as r
print(np.frombuffer(r.read(sys.argv[1])["x"][2], "<f4")[0])' "$1"
}

# target 3: d (1) -2, c (4) -1, a (0) -3, b (8) -5. c first; with d 2.5: better; with a 5/3: worse;
# with b 13/3: worse
run average a.safetensors b.safetensors c.safetensors d.safetensors --method greedy \
    --score "$score 3 {}" -o soup.safetensors 2>&1 | sed 's/--score .*python[0-9]* /--score PYTHON /'
first soup.safetensors
checkpoint metadata soup.safetensors | sed 's/[0-9a-f]\{64\}/H/g; s/version[^,]*,/version,/'
listing '.*'
bang average c.safetensors d.safetensors -q -o mean.safetensors
checkpoint same soup.safetensors mean.safetensors

# the same as a script sees it
bang average a.safetensors b.safetensors c.safetensors d.safetensors --method greedy \
    --score "$score 3" --json -o soup.safetensors
bang average a.safetensors b.safetensors c.safetensors d.safetensors --method greedy \
    --score "$score 3" --quiet -o soup.safetensors

# one member: the bytes of that input, counters too, and nothing to warn of
bang average a.safetensors b.safetensors c.safetensors --method greedy --score "$score 8 {}" \
    -o one.safetensors
checkpoint same one.safetensors b.safetensors

# equal scores: the earlier first; an average that is only as good does not stay
bang average a.safetensors b.safetensors c.safetensors --method greedy --score 'echo 1 {} | cut -c1' \
    -o equal.safetensors
checkpoint same equal.safetensors a.safetensors
# 0 and 8 are equally far from 4, and their mean is right; then nothing can be better
bang average a.safetensors b.safetensors --method greedy --score "$score 4 {}" -o pair.safetensors
first pair.safetensors

# nan is the worst; of members the last has the counter
cat >diverged.sh <<'END'
case $1 in a.* | b.*) echo 0.5 ;; c.*) echo nan ;; *) echo 0.6 ;; esac
END
bang average c.safetensors b.safetensors a.safetensors d.safetensors --method greedy \
    --score 'sh diverged.sh' -o nan.safetensors
$python -c 'import read_checkpoint as r
x = r.read("nan.safetensors")
print("counter", x["bn.num_batches_tracked"][2][0])'
bang average a.safetensors c.safetensors b.safetensors --method greedy --score "$score 2 {}" -q \
    -o last.safetensors
first last.safetensors
$python -c 'import read_checkpoint as r
print("counter", r.read("last.safetensors")["bn.num_batches_tracked"][2][0])'

# quotes and spaces in paths
mkdir "it's a folder"
bang average "it's c.safetensors" d.safetensors --method greedy --score "$score 3 {}" \
    -o "it's a folder/soup of \$HOME.safetensors"
listing '*soup of*'
listing '.*'

# shards: the scorer gets the index, and nothing stays behind
bang average c.safetensors d.safetensors --method greedy --score "$score 3 {}" --shard-size 10 \
    -o shards.safetensors
bang average c.safetensors d.safetensors --method greedy --score "$score 3 {}" \
    -o shards.safetensors.index.json -q
listing '*shards*'
# folders
mkdir c d
cp c.safetensors c/model.safetensors
cp d.safetensors d/model.safetensors
echo '{}' >c/config.json
bang average c d --method greedy --score "$score 3 {}" -o soup -q
checkpoint same soup/model.safetensors mean.safetensors
find soup -type f | LC_ALL=C sort
listing '.*'

# scorers that fail: nothing is written, nothing stays
cat >fails.sh <<'END'
case $1 in *soup*) echo "no such luck" >&2; exit 3 ;; esac
echo 1
END
run average c.safetensors d.safetensors --method greedy --score 'sh fails.sh {}' -o no.safetensors
run average c.safetensors d.safetensors --method greedy --score 'exit 9 #' -o no.safetensors
run average c.safetensors d.safetensors --method greedy --score 'echo fine:' -o no.safetensors
run average c.safetensors d.safetensors --method greedy --score 'true' -o no.safetensors
run average c.safetensors d.safetensors --method greedy --score 'echo 1 inf #' -o no.safetensors
run average c.safetensors d.safetensors --method greedy --score 'kill -9 $$ #' -o no.safetensors
run average c.safetensors lost.safetensors --method greedy --score 'echo 1' -o no.safetensors
run average c.safetensors d.safetensors --method greedy --score 'echo 1 #' -o no/no.safetensors
run average c.safetensors d.safetensors --method greedy --score 'echo 1 #' -o no.xyz
run average c.safetensors d.safetensors --method greedy --score 'echo 1 #' -o c.safetensors
run average c.safetensors d.safetensors --method greedy --score 'echo 1 #' --dry-run -o no.safetensors
listing '*no.*'
listing '.*'

# the best of several alphas: 0 and 8 at alpha .25 make 2; of equal ones the first
bang average a.safetensors b.safetensors --alpha 0,.25,0.5,1 --score "$score 2.5 {}" \
    -o best.safetensors
first best.safetensors
bang average a.safetensors b.safetensors --alpha .25 -q -o quarter.safetensors
cmp best.safetensors quarter.safetensors
bang average a.safetensors b.safetensors --alpha 0.5,0.125,.75 --score "$score 2 {}" --json \
    -o 'best-{alpha}.safetensors' | sed 's/"seconds":[^,]*/"seconds":"S"/'
listing 'best*'
run average a.safetensors b.safetensors --alpha 0,1 --score 'echo nan #' -q -o nan.safetensors
checkpoint same nan.safetensors a.safetensors
run average a.safetensors b.safetensors --alpha 0,1 --score 'exit 4 #' -o no.safetensors
run average a.safetensors b.safetensors --alpha 0.5 --score 'echo 1 #' -o no.safetensors
run average a.safetensors b.safetensors --score 'echo 1 #' -o no.safetensors
listing '.*'

# A search within a search for the same output, and one that is killed while it scores: the first is
# refused; what the second leaves goes with the next average, however that is written.
for out in twice.safetensors 'twice-{alpha}.safetensors' 'twice-{alpha}/' twice/more/; do
    bang average a.safetensors b.safetensors --alpha 0.25,0.5 -q -o "$out" \
        --score "bang average a.safetensors b.safetensors --alpha 1,0 --score 'echo 1 #' -o '$out' >&2; $score 2"
done
cat >kills.sh <<'END'
case $1 in *soup*) kill -9 $PPID ;; esac
echo 1
END
killed() {
    run average a.safetensors b.safetensors -q --score 'exec sh kills.sh {}' "$@" 2>/dev/null
    find . -path '*.bang-soup/*' | grep -q . || echo "nothing is left to be swept"
}
left() {
    run average a.safetensors b.safetensors -q "$@"
    listing '.?*'
}
mkdir alphas
killed --alpha 0.3,0.5 -o 'alphas/{alpha}.safetensors'
left --alpha 0.5,0.3 -o 'alphas/{alpha}.safetensors' --score 'echo 1 #'
killed --alpha 0.3,0.5 -o 'alphas/{alpha}/'
left --alpha 0.5 -o 'alphas/{alpha}/'
killed --method greedy -o left.safetensors --shard-size 10
left -o left.safetensors
killed --method greedy -o left/
left -o left/
# what is being searched for stays
bang average a.safetensors b.safetensors --alpha 0.25,0.5 -q -o stays.safetensors \
    --score "bang average a.safetensors b.safetensors -q -o stays.safetensors && $score 2"
first stays.safetensors
run average c.safetensors d.safetensors --method greedy --score 'exit 9 #' -o above/it/
listing above
