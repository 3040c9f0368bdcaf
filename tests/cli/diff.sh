# How far two checkpoints are apart: by hand, and every way not to fit.
LC_ALL=C
export LC_ALL
zero='\0000\0000\0000\0000' one='\0000\0000\0200\0077' two='\0000\0000\0000\0100'
three='\0000\0000\0100\0100' four='\0000\0000\0200\0100' nan='\0000\0000\0300\0177'
half16='\0000\0070' one16='\0000\0074'
# make FILE HEADER BYTES: a safetensors file of fewer than 65536 bytes of header
make() {
    {
        printf '%b' "$(printf '\\0%03o\\0%03o' $((${#2} % 256)) $((${#2} / 256)))"
        printf '\0\0\0\0\0\0%s%b' "$2" "$3"
    } >"$1"
}
# tensor NAME TYPE SHAPE FROM TO
tensor() { printf '"%s":{"dtype":"%s","shape":[%s],"data_offsets":[%s,%s]}' "$@"; }

# (3, 4) -> (4, 3) in h.0, (1, 2) -> (1, 1) in h.1, h.10 stays; h.2 has 1 -> 0.5 as F16
make a.safetensors "{$(tensor h.10.weight F32 2 0 8),$(tensor h.0.weight F32 2 8 16),\
$(tensor h.1.weight F32 1,2 16 24),$(tensor h.2.weight F32 1 24 28),$(tensor head.bias F32 1 28 32),\
$(tensor old.weight F32 1 32 36),$(tensor shape.weight F32 2 36 44)}" \
    "$three$four$three$four$one$two$one$zero$one$one$two"
make b.safetensors "{$(tensor h.0.weight F32 2 0 8),$(tensor h.1.weight F32 1,2 8 16),\
$(tensor h.10.weight F32 2 16 24),$(tensor head.bias F32 1 24 28),$(tensor shape.weight F32 1,2 28 36),\
$(tensor 'new.<script>' F32 1 36 40),$(tensor h.2.weight F16 1 40 42)}" \
    "$four$three$one$one$three$four$one$one$two$one$half16"

run diff --help
run diff a.safetensors b.safetensors
run diff a.safetensors b.safetensors --sort change --top 1 --tensors
run diff a.safetensors b.safetensors --sort name --top 0
run diff a.safetensors b.safetensors --json
run diff a.safetensors a.safetensors
run diff b.safetensors b.safetensors --json
run diff a.safetensors b.safetensors --quiet
LC_ALL=C.UTF-8
run diff a.safetensors b.safetensors --threads 1 --max-memory 0.25G
LC_ALL=C

# other types of the same numbers; numbers that are not finite; names that steer a terminal
make c.safetensors "{$(tensor x F32 2 0 8),$(tensor y F32 2 8 16)}" "$one$nan$one$two"
make d.safetensors "{$(tensor x F32 2 0 8),$(tensor y F16 2 8 12)}" "$two$one$one16$half16"
run diff c.safetensors d.safetensors
run diff c.safetensors d.safetensors --json
make e.safetensors "{$(tensor 'x\u001b[31m' F32 1 0 4)}" "$one"
make f.safetensors "{$(tensor 'x\u001b[31m' F32 1 0 4)}" "$two"
run diff e.safetensors f.safetensors
run diff e.safetensors c.safetensors

# counters are no weights: not in the total, not in the layer, not among what moved
long1="\\0001\\0000\\0000\\0000$zero" long9="\\0011\\0000\\0000\\0000$zero"
head="{$(tensor bn.steps I64 1 0 8),$(tensor bn.weight F32 2 8 16),$(tensor ids.all I64 1 16 24)}"
make k.safetensors "$head" "$long1$three$four$long1"
make l.safetensors "$head" "$long9$four$three$long9"
run diff k.safetensors l.safetensors --tensors
run diff k.safetensors l.safetensors --json

# the page: no script but its own, and the same bytes each time
mkdir first second
cp a.safetensors first/model.safetensors
cp b.safetensors second/model.safetensors
run diff e.safetensors f.safetensors --html page.html | tail -2
run diff first second/ --html page.html -q
run diff first second/ --html again.html -q --threads 1
cmp page.html again.html && echo same page
grep -c '<script' page.html
grep -o '&lt;script&gt;' page.html | sort -u
grep -o 'How far [^<]*' page.html | head -n 1
grep -o 'h[.][0-9]*: [0-9.]*</title>' page.html
run diff first/model.safetensors second/model.safetensors --html page.html -q
grep -o 'How far [^<]*' page.html | head -n 1

# refused
run diff
run diff a.safetensors --sort size --top -1 --max-memory -1M --html first
run diff a.safetensors b.safetensors --max-memory much
run diff lost.safetensors none.safetensors
run diff a.safetensors b.safetensors --html none/page.html
