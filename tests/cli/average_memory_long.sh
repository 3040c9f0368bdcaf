# Two files of 2 GB, made of holes but for a few numbers, are averaged in 64 MB
# or less, and in less when asked. The output needs real room on the disk.
# /tmp may be memory: the files go beside the build.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
folder=$(mktemp -d "${build:?}/average_memory.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
[ "$(df -Pk . | awk 'NR == 2 { print $4 }')" -ge 2500000 ] ||
    { echo "not enough room: 2.5 GB are needed beside the build"; exit 77; }
cat >memory.py <<'END'
"""make NAME VALUE: a file of 2 GB whose tensors all are 0 up to the last number.
measure COMMAND...: the most memory that it had, against the last argument.
check NAME VALUE: are those numbers there, and is everything else 0?
"""
import json
import os
import struct
import sys


def layout():
    """A tensor of three bytes first: nothing is aligned in any way."""
    at, tensors = 3, [("odd", "U8", [3], 0, 3)]
    for i in range(16):
        shape = [1 << 15, 1 << 10] if i else [(1 << 15) - 1, 1 << 10]
        size = 4 * shape[0] * shape[1]
        tensors.append(("layer.%d.weight" % i, "F32", shape, at, at + size))
        at += size
    return tensors


def make(name, value):
    header = json.dumps({n: {"dtype": d, "shape": s, "data_offsets": [b, e]}
                         for n, d, s, b, e in layout()}).encode()
    with open(name, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        begin = file.tell()
        for n, d, s, b, e in layout():
            file.seek(begin + (b if d == "U8" else e - 4))
            file.write(b"\1\2\3" if d == "U8" else struct.pack("<f", float(value)))


def measure(*arguments):
    *command, most = arguments
    sink = [(os.POSIX_SPAWN_OPEN, 1, "printed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)]
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=sink)
    _, status, used = os.wait4(child, 0)
    if status:
        print("exit", os.waitstatus_to_exitcode(status))
    peak = used.ru_maxrss * 1024 / 1e6
    print("peak within %s MB: %s" % (most, "yes" if peak <= float(most) else "no, %.1f" % peak))


def check(name, value):
    """Everything is read, but in the pieces that a tensor has."""
    with open(name, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        begin, good = file.tell(), 0
        for n, d, s, b, e in layout():
            if header[n]["dtype"] != d or header[n]["shape"] != s:
                continue
            file.seek(begin + header[n]["data_offsets"][0])
            data = file.read(e - b)
            good += data == b"\1\2\3" if d == "U8" else (
                data.count(0, 0, -4) == len(data) - 4 and
                struct.unpack("<f", data[-4:])[0] == float(value))
        print(good, "of", len(layout()), "tensors are right")


globals()[sys.argv[1]](*sys.argv[2:])
END
python3 memory.py make a.safetensors 1
python3 memory.py make b.safetensors 4
average() { # MEGABYTES OPTION...
    most=$1
    shift
    python3 memory.py measure bang average a.safetensors b.safetensors -o out.safetensors --quiet \
        --alpha .25 "$@" "$most"
    python3 memory.py check out.safetensors 1.75
    rm -f out.safetensors
}
average 64
average 32 --max-memory 32M
average 16 --max-memory 16M
