# A run that is killed at any moment leaves its inputs as they were, and under the
# name of the output nothing or all of it; one that is interrupted leaves nothing.
# What this prints does not depend on how far each run came.
folder=$(mktemp -d "${build:?}/average_kill.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
[ "$(df -Pk . | awk 'NR == 2 { print $4 }')" -ge 600000 ] ||
    { echo "not enough room: 600 MB are needed beside the build"; exit 77; }

# NAME FIRST: 80 MB of digits, which are finite numbers too. The first tensor has
# 5 bytes, so that nothing is aligned.
make() {
    header='{"w":{"dtype":"F32","shape":[20000000],"data_offsets":[5,80000005]}'
    header=$header',"n":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}}'
    # shellcheck disable=SC2059
    printf "$(printf '\\%03o\\0\\0\\0\\0\\0\\0\\0' ${#header})" >"$1"
    printf '%s12345' "$header" >>"$1"
    seq "$2" "$(($2 + 11000000))" | head -c 80000000 >>"$1"
}
make a.safetensors 1
make b.safetensors 5000000
cksum a.safetensors b.safetensors >before

# What every run must make, if anything.
run average a.safetensors b.safetensors -o good.safetensors --quiet

# SIGNAL DELAY: starts a run, ends it, and sets code. A shell ignores SIGINT for what runs in the
# background.
end_early() {
    env --default-signal=INT bang average a.safetensors b.safetensors -o out.safetensors --quiet 2>said &
    pid=$!
    sleep "$2"
    kill -s "$1" $pid 2>/dev/null
    wait $pid 2>/dev/null
    code=$?
}

echo "-- killed"
for delay in 0 0.01 0.02 0.03 0.04 0.06 0.08 0.1 0.13 0.17 0.25 0.4; do
    end_early KILL $delay
    [ $code -eq 137 ] || [ $code -eq 0 ] || { echo "exit $code" && cat said; }
    if [ -e out.safetensors ]; then
        cmp out.safetensors good.safetensors
        rm out.safetensors
    fi
done
run average a.safetensors b.safetensors -o out.safetensors --quiet
cmp out.safetensors good.safetensors && echo "complete"
rm out.safetensors
ls -A

echo "-- killed while it replaces a file"
for delay in 0.02 0.05 0.1 0.2 0.4; do
    echo old >out.safetensors
    end_early KILL $delay
    [ "$(head -c 4 out.safetensors)" = old ] || cmp out.safetensors good.safetensors
done
rm -f out.safetensors .out.safetensors.bang-part

echo "-- interrupted"
seen=0
for delay in 0.02 0.03 0.05 0.08 0.12 0.16 0.2 0.3 0.5 1; do
    for signal in INT TERM; do
        end_early $signal $delay
        case $code in
        0) cmp out.safetensors good.safetensors && rm out.safetensors ;;
        130 | 143) # 143: before it began to listen
            sed '/^bang\( average\)*: interrupted$/d' said
            ! grep -q '^bang average: ' said || seen=1
            ;;
        *)
            echo "exit $code"
            cat said
            ;;
        esac
        [ ! -e out.safetensors ] || echo "the output is there"
        [ ! -e .out.safetensors.bang-part ] || [ ! -s said ] || echo "a part is left"
    done
done
[ $seen -eq 1 ] && echo "and said so"
cksum a.safetensors b.safetensors | cmp - before && echo "inputs as they were"
