#!/usr/bin/env python3
"""Writes the seeds of fuzz targets that need no other program's help:

    tests/fuzz/make_corpus.py [FOLDER]        (tests/fuzz/corpus)

The same bytes every time; a test compares them with what lies there. Pictures, pickles and
PyTorch files in the corpus were once written by Pillow and PyTorch from a few numbers of ours.
"""
import json
import os
import struct
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "corpus")
MARK = b"\n----\n"


def text(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def safetensors(tensors, metadata=None):
    """tensors: name -> (dtype, shape, bytes)"""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    head = text(header)
    return struct.pack("<Q", len(head)) + head + data


def floats(count):
    return struct.pack("<%df" % count, *[i / 4 - 1 for i in range(count)])


def npy(descr, fortran, shape, content, version=1):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    size = 8 + (2 if version == 1 else 4)
    head = head.ljust((size + len(head) + 64) // 64 * 64 - size - 1) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(head))
    return b"\x93NUMPY" + bytes([version, 0]) + length + head.encode() + content


def member(content):
    """A gzip member whose bytes are stored, not packed: the same from every zlib."""
    blocks = b"\x01" + struct.pack("<HH", len(content), 0xFFFF ^ len(content)) + content
    return (b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + blocks +
            struct.pack("<II", zlib.crc32(content), len(content)))


def zeros(times):
    """A gzip member of many zeros by one code each: 258 bytes a symbol (deflate's fixed codes)."""
    bits = [1, 1, 0]                                   # last block, fixed codes
    bits += [0, 0, 1, 1, 0, 0, 0, 0]                   # literal 0
    for _ in range(times):
        bits += [1, 1, 0, 0, 0, 1, 0, 1]               # length 258
        bits += [0, 0, 0, 0, 0]                        # distance 1
    bits += [0] * 7                                    # end of the block
    packed = bytearray((len(bits) + 7) // 8)
    for i, bit in enumerate(bits):
        packed[i // 8] |= bit << (i % 8)
    content = bytes(1 + 258 * times)
    return (b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + bytes(packed) +
            struct.pack("<II", zlib.crc32(content), len(content)))


def reports():
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
    out = {}
    shown = []
    for name in sorted(os.listdir(os.path.join(CORPUS, "figure"))):
        with open(os.path.join(CORPUS, "figure", name), "rb") as file:
            entry = json.loads(file.read())
        shown.append(entry)
        out["of_" + name] = text({"key": name, "experiment": "fuzz", "section": "Chapter (one)",
                                  "version": "1", "options": {"seed": 1}, "result": {},
                                  "command": "bang theory", "show": [entry]}) + b"\n"
    kinds = [{"kind": "text", "text": "First. Second."},
             {"kind": "facts", "title": "Facts", "rows": [["Processor", "x"], ["Threads", 8]]},
             {"kind": "verdict", "claim": hostile, "holds": "partly", "because": "of it",
              "item": "Table 1"},
             {"kind": "picture", "title": "P", "png": "iVBORw0KGgo=", "alt": hostile},
             {"kind": "unknown"}]
    lines = [text({"key": "a/%d" % i, "section": hostile if i % 2 else "Plain", "options": {},
                   "result": {"x": [1, None, "s"]}, "show": [entry]}) for i, entry in
             enumerate(kinds)]
    out["kinds"] = b"\n".join(lines) + b"\n"
    out["listed"] = text({"key": hostile, "result": {"deep": [[[{"a": 1}]]]}}) + b"\n"
    out["cut"] = text({"key": "whole"}) + b"\n{\"key\":"
    out["wrong"] = b"[1]\n"
    return out


def settings():
    config = {"num_attention_heads": 4, "hidden_act": "quick_gelu", "layer_norm_eps": 1e-5,
              "vision_config": {"num_attention_heads": 2, "hidden_act": "gelu"},
              "text_config": {"num_attention_heads": 2, "layer_norm_eps": 1e-6},
              "pretrained_cfg": {"mean": [0.5, 0.5, 0.5], "std": [0.5]},
              "id2label": {"0": "cat", "1": "dog"}}
    preprocessor = {"image_mean": [0.48, 0.45, 0.4], "image_std": [0.26, 0.26, 0.27]}
    clip = {"model_cfg": {"quick_gelu": True, "vision_cfg": {"head_width": 64},
                          "text_cfg": {"heads": 8}},
            "preprocess_cfg": {"mean": [0.5], "std": [0.5]}}
    wrong = {"num_attention_heads": -1, "hidden_act": 3, "layer_norm_eps": "x", "id2label": [1],
             "label_names": ["a", "b"], "vision_config": []}
    return {"all": MARK.join([text(config), text(preprocessor), text(clip)]),
            "wrong": MARK.join([text(wrong), text({"image_std": [0, 1, 1]}), text({"model_cfg": 1})]),
            "names": text({"label_names": ["LABEL_0", "b"], "hidden_act": "gelu_pytorch_tanh"}),
            "broken": b"{" + MARK + b"\xff"}


def family():
    classes = b"n01 tench\nn02,goldfish\nn03\n"
    folders = {"alarm_clock": "Alarm clock", "banana": "Banana", "chair": "Chair"}
    names = {"Alarm clock": "tench", "Banana": "goldfish, Carassius; shark"}
    lines = b"shark\ntench\ngoldfish, Carassius\n"
    ranks = {"0": 1, "1": 2, "2": 0}
    return {"objectnet": MARK.join([classes, text(folders), text(names), lines, text(ranks)]),
            "lost": MARK.join([classes, text(folders), text({"Banana": "apple"}), lines,
                               text(ranks)]),
            "empty": MARK.join([classes, text(folders), text({}), lines, text(ranks)]),
            "line_break": MARK.join([classes, text(folders), text({"Banana": "a\nb"}), lines,
                                     text(ranks)]),
            "ranks": MARK.join([classes, text(folders), text(names), lines, text({"0": 9})]),
            "twice": b"n01\nn01\n", "numbers": b"0\n1\n2\n"}


def dataset():
    return {"mnist": b"\0split=test,count=7", "color": b"\1p=0.5,seed=3,count=5,split=train",
            "protocol": b"\2protocol=published,p=1,count=3", "shift": b"\3kind=r,seed=2,count=4",
            "validation": b"\3kind=id,split=val", "fashion": b"\4count=2",
            "twice": b"\1p=0,p=1,x=2,count=-1,seed", "huge": b"\1count=9223372036854775807"}


def lists():
    return {"prompts": b"cat\ndog\tgood dog\nfox" + MARK + b"a photo of a {}.\n{} {}",
            "blank": b"cat\n\ndog\n" + MARK + b"no hole\n",
            "subset": b"n01\tcat\nn02\tdog\nn03\tfox" + MARK + b"cat\ndog\n",
            "log": b'{"step":1,"loss":2.5}\n{"step":2,"loss":2}\n{"step":4}\n{"step":',
            "bytes": b"a\xff\n" + MARK + b"\xc2\x9b{}", "carriage": b"a\r\nb\r\nc\r\n"}


def options():
    return {"average": b"0.3\n\nhead.*=0.3\n*.bias=1\n", "weights": b"\n0.2,0.8\nx=0.5,0.5\n=1\n",
            "bytes": b"1.5GiB", "kilobytes": b"64KB", "sweep": b"p=0:1:0.05", "whole": b"nv2=1:5:1",
            "augment": b"flip,rotate,color,crop", "alpha": b"out-{alpha}/{alpha}.pt",
            "numbers": b"0.48,0.45,1e-3"}


def mlps():
    good = {"0.weight": ("F32", [3, 2], floats(6)), "0.bias": ("F32", [3], floats(3)),
            "2.weight": ("F32", [2, 3], floats(6)), "2.bias": ("F32", [2], floats(2))}
    half = {"0.weight": ("BF16", [2, 2], bytes(8)), "0.bias": ("F16", [2], bytes(4))}
    wrong = dict(good, **{"2.weight": ("F32", [2, 2], floats(4))})
    return {"two": safetensors(good, {"bang.activation": "tanh"}), "half": safetensors(half),
            "wrong": safetensors(wrong), "gap": safetensors({"4.weight": ("F32", [1, 1], floats(1))})}


def resume():
    with open(os.path.join(CORPUS, "state", "same"), "rb") as file:
        about = file.read().decode()
    tensors = {"step": ("U64", [1], struct.pack("<Q", 3)), "weights": ("F32", [4], floats(4))}
    late = dict(tensors, step=("U64", [1], struct.pack("<Q", 11)))
    return {"same": safetensors(tensors, {"bang.state": about}),
            "late": safetensors(late, {"bang.state": about}),
            "other": safetensors(tensors, {"bang.state": '{"loss":1}'}),
            "none": safetensors(tensors)}


def indexes():
    return {"inside": text({"weight_map": {"a": "1.safetensors", "b": "1.safetensors"}}),
            "outside": text({"weight_map": {"a": "../2.safetensors", "b": "/etc/passwd",
                                            "c": "x/../../2.safetensors", "d": ".."}}),
            "wrong": text({"weight_map": ["1.safetensors"]}), "broken": b"{\"weight_map\":"}


def make():
    """target -> name -> bytes"""
    vit = {}
    for name in sorted(os.listdir(os.path.join(CORPUS, "vit"))):
        with open(os.path.join(CORPUS, "vit", name), "rb") as file:
            vit[name] = file.read()
    return {
        "cli_lists": lists(), "cli_options": options(), "convert": vit, "dataset": dataset(),
        "family": family(), "mlp": mlps(), "old_index": indexes(), "report": reports(),
        "resume": resume(), "settings": settings(),
        "gzip": {"plain": b"text\n", "stored": member(b"text\n" * 5),
                 "members": member(b"one\n") + member(b"two\n"), "cut": member(b"text\n" * 5)[:-9],
                 "zeros": zeros(100), "bomb": zeros(5000)},
        "table": {"floats": npy("<f4", False, "(3, 2)", floats(6)),
                  "fortran": npy("<f8", True, "(2, 3)", struct.pack("<6d", *range(6))),
                  "half": npy(">f2", False, "(5, 1)", bytes(10)),
                  "later": npy("<f4", False, "(1, 4)", floats(4), 2),
                  "huge": npy("<f4", False, "(1152921504606846976, 4)", floats(4)),
                  "empty": npy("<f4", False, "(1152921504606846976, 0)", b""),
                  "integers": npy("<i8", False, "(2, 2)", bytes(32))},
    }


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else CORPUS
    for target, seeds in make().items():
        os.makedirs(os.path.join(folder, target), exist_ok=True)
        for name, content in seeds.items():
            with open(os.path.join(folder, target, name), "wb") as file:
                file.write(content)


if __name__ == "__main__":
    main()
