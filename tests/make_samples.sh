#!/bin/sh
# Checkpoints that the documents' examples work on: tiny CLIPs, the second near
# the first, a head and pictures for them, and a program that scores them.
#     make_samples.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")/cli" && pwd)
# shellcheck source=/dev/null
. "$here/numpy.inc"
cd "$1"
clip pre.safetensors width=64 depth=3 text_depth=2 seed=1
clip other.safetensors width=64 depth=3 text_depth=2 seed=2
bang average pre.safetensors other.safetensors --alpha 0.02 -o fine.safetensors -q \
    --rule 'visual.transformer.resblocks.1.*=0.05' \
    --rule 'visual.transformer.resblocks.2.*=0.1' --rule 'visual.proj=0.12'
vit head head.safetensors classes=3 features=6 names=cat,dog,fox seed=2
pictures photos classes=cat,dog,fox count=8
pictures sketches classes=cat,dog,fox count=8 seed=3
cat >score.sh <<'END'
#!/bin/sh
# Stands for an evaluation: knows the names, and how many were averaged.
case $(bang inspect "$1" --json | grep -o '0[.][35]3*[0-9]*,' | sort -u | head -n 1) in
0.33*) echo 0.66 ;;
*) case $1 in
   fine*) echo 0.71 ;;
   wise*) echo 0.74 ;;
   other*) echo 0.52 ;;
   *) echo 0.75 ;;
   esac ;;
esac
END
chmod +x score.sh
