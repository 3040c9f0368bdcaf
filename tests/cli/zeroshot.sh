# A head from class names by a tiny CLIP's text tower; numpy says whether it is right.
# shellcheck source=/dev/null disable=SC2154
. "$here/numpy.inc"
vocabulary=$here/../data/tokenizer/merges.txt
cp "$vocabulary" merges.txt
gzip -n -c merges.txt >merges.gz
sizes='text_width=128 text_depth=2 context=16 vocabulary=731 embedding=24 width=64 scale=0.3'
sizes="$sizes logit_scale=4.6052"
# shellcheck disable=SC2086
{
    clip clip.safetensors $sizes
    clip hf.safetensors $sizes layout=hf ids=1
    clip half.safetensors $sizes dtype=f16 prefix=module.
}
reference() { $python "$here/../zeroshot_reference.py" "$@"; }
same() { cmp "$1" "$2" && echo "$1 and $2 are the same, byte for byte"; }
printf 'cat\ngolden retriever\nn01\tcar &amp; &#39;bird&#39;s\nTinca tinca\tGROßER hund\n' >classes.txt
printf 'a photo of a {}.\na bad photo of the {}, the {}\n{}\n' >templates.txt

run zeroshot --help
run zeroshot --model clip.safetensors --classes classes.txt --templates templates.txt \
    --vocab merges.gz -o head.safetensors
reference head.safetensors clip.safetensors merges.txt classes.txt templates.txt 2 quick
checkpoint list head.safetensors | sed 's/ [^ ]*$//'
checkpoint metadata head.safetensors
run zeroshot --model clip.safetensors --classes classes.txt --templates templates.txt \
    --vocab merges.txt --threads 1 --json -o one.safetensors
same one.safetensors head.safetensors
echo cat >cat.txt
run zeroshot --model clip.safetensors --classes cat.txt --vocab merges.txt -o cat.safetensors

# the same CLIP in other layouts and formats
set -- --classes classes.txt --templates templates.txt --vocab merges.txt -q
run zeroshot --model hf.safetensors "$@" -o from_hf.safetensors
same from_hf.safetensors head.safetensors
run convert clip.safetensors -q -o clip.pt
run zeroshot --model clip.pt "$@" -o from_pt.safetensors
same from_pt.safetensors head.safetensors
run convert hf.safetensors -q --shard-size 100K -o folder/
run zeroshot --model folder "$@" -o from_folder.safetensors
same from_folder.safetensors head.safetensors
run zeroshot --model half.safetensors "$@" -o half_head.safetensors
$python - <<'END'
import read_checkpoint as r
names = {k[len("module."):]: v for k, v in r.read("half.safetensors").items()}
r.write("plain_half.safetensors", names)
text = ("token_embedding", "positional_embedding", "transformer.", "ln_final", "text_projection")
r.write("open_clip.safetensors", {("text." if k.startswith(text) else "") + k: v
                                  for k, v in r.read("clip.safetensors").items()})
END
reference half_head.safetensors plain_half.safetensors merges.txt classes.txt templates.txt 2 quick

# open_clip's own models use GELU; heads and GELU as the user says
run zeroshot --model open_clip.safetensors "$@" -o exact.safetensors
reference exact.safetensors clip.safetensors merges.txt classes.txt templates.txt 2 exact
run zeroshot --model open_clip.safetensors "$@" --gelu quick -o quick.safetensors
same quick.safetensors head.safetensors
run zeroshot --model clip.safetensors "$@" --text-heads 8 -o eight.safetensors
reference eight.safetensors clip.safetensors merges.txt classes.txt templates.txt 8 quick

# one template without a file; texts that are too long; names that are there twice
printf 'cat\r\n%s\r\ncat\r\n' 'a cat that sleeps on the chair in the garden of the old house' >long.txt
run zeroshot --model clip.safetensors --classes long.txt --vocab merges.txt -o long.safetensors
tr -d '\r' <long.txt >unix.txt
echo 'a photo of a {}.' >one.txt
reference long.safetensors clip.safetensors merges.txt unix.txt one.txt 2 quick
checkpoint metadata long.safetensors

# with the image tower: to be averaged, and to be read again
run zeroshot --model clip.safetensors --classes classes.txt --templates templates.txt \
    --vocab merges.txt --with-model -o model.safetensors
run inspect model.safetensors | grep -v resblocks
run zeroshot --model hf.safetensors "$@" --with-model -o model_hf.safetensors
run convert model_hf.safetensors --to clip-openai -q -o again.safetensors
same again.safetensors model.safetensors
run average model.safetensors again.safetensors -q -o average.safetensors
checkpoint same average.safetensors model.safetensors
run zeroshot --model model.safetensors "$@" -o x.safetensors

# what is wrong is said at once
run zeroshot
run zeroshot a b --modle c --heads -1 --gelu relu -o x.txt
run zeroshot --model clip.safetensors --heads 2 --classes classes.txt --vocab merges.txt \
    -o clip.safetensors
printf 'cat\n\n  \nn1\tdog\nn1\tbird\nn2\t\n\t\n\377\n' >wrong.txt
printf 'a photo of a {}.\na photo\n' >no_hole.txt
clip tiny.safetensors text_width=40 vocabulary=731
run zeroshot --model tiny.safetensors --classes wrong.txt --templates no_hole.txt \
    --vocab classes.txt --with-model -o x.safetensors
run zeroshot --model nowhere --classes none --templates none --vocab none -o x.safetensors
: >empty
clip small.safetensors text_width=64 vocabulary=700
run zeroshot --model small.safetensors --classes empty --vocab merges.txt -o x.safetensors
ls x* 2>/dev/null
mkdir -p folder && run zeroshot --model clip.safetensors --classes folder --vocab merges.txt -o none.safetensors
