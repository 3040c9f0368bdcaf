# Averaging on MultiColorMNIST and the terms of two layers from raw MNIST. Expected are means
# over 16 pairs and p = .7 to .9, measured with another program; what we find must be within 3
# standard errors of them (ours, and theirs of twice as many pairs). Of the verdicts those are
# shown that no processor's rounding decides.
BANG_CACHE_BEFORE=${BANG_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bang}
BANG_CACHE=$PWD/cache
export BANG_CACHE
if ! bang data get mnist --from "$BANG_CACHE_BEFORE/mnist" >getting 2>&1 && ! bang data get mnist >getting 2>&1; then
    cat getting
    grep -q 'network' getting && exit 77
fi
bang reproduce multicolor-average two-layer -o run --json --quiet >json
number() { # MEMBER FIELD, of its mean over p = .7 to .9
    awk -v name="$1" -v field="$2" '{
        text = substr($0, index($0, "\"accuracy\":{"))
        text = substr(text, index(text, "\"" name "\":{"))
        text = substr(text, index(text, "\"far\":{"))
        text = substr(text, index(text, "\"" field "\":") + length(field) + 3)
        print text + 0
    }' json
}
while read -r name expected; do
    echo "$(number "$name" mean) $(number "$name" stderr) $expected" |
        awk -v name="$name" '{
            z = (100 * $1 - $3) / (100 * $2 * sqrt(1.5))
            if (z >= -3 && z <= 3) print name " is close"; else print name ": " $0
        }'
done <<'END'
PM 54.5
FM 69.9
WSE 74.8
OSE 75.2
END
tr '{' '\n' <run/results.jsonl | grep '"kind":"verdict"' |
    grep -v '"claim":"BANG with\|beats averaging outputs' |
    sed 's/.*"claim":"\([^"]*\)","holds":"\([^"]*\)".*/\2: \1/'
