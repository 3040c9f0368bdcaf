#!/usr/bin/env python3
"""Vision transformers by their definition, with numpy alone and in double, so that what
bang computes is checked by code that shares nothing with it:

    vit_reference.py make OUT [KEY=VALUE ...]    random weights in timm's layout; image patch
                                                 channels width depth heads hidden classes
                                                 seed; names=a,b,c are those of the classes
    vit_reference.py head OUT [KEY=VALUE ...]    classification_head.*: classes features seed
                                                 names
    vit_reference.py predict OUT.npy MODEL PICTURE ... [KEY=VALUE ...]
                                                 logits; heads, gelu=exact|quick, head=FILE,
                                                 features=1, border=N cut from each edge;
                                                 pictures (PNG of make_pictures.py), then of
                                                 the model's size
    vit_reference.py map OUT.npy LOGITS.npy 3,0+2,...
                                                 column by column the largest of some
    vit_reference.py compare A.npy B.npy TOLERANCE
    vit_reference.py mean OUT.npy A.npy WA B.npy WB ...

MODEL is in timm's layout or a CLIP in OpenAI's."""
import json
import math
import struct
import sys
import zlib

import numpy as np

import read_checkpoint

CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


def settings(o, items):
    rest = []
    for item in items:
        key, equal, value = item.partition("=")
        if not equal:
            rest.append(item)
        elif key in o:
            o[key] = value
        else:
            sys.exit(f"{key}: unknown")
    return rest


def metadata(o, **more):
    if o.get("names"):
        more["classes"] = o["names"].split(",")
    return {"bang.vit": json.dumps(more)} if more else None


def make(path, *items):
    o = {"image": 16, "patch": 4, "channels": 3, "width": 16, "depth": 2, "heads": 2, "hidden": 24,
         "classes": 3, "seed": 1, "names": ""}
    settings(o, items)
    n = {key: int(value) for key, value in o.items() if key != "names"}
    random = np.random.default_rng(n["seed"])
    out = {}

    def add(name, *shape, scale=0.0, about=0.0):
        scale = scale or 1 / math.sqrt(shape[-1])
        out[name] = (about + scale * random.standard_normal(shape)).astype("<f4")

    w, h = n["width"], n["hidden"]
    add("cls_token", 1, 1, w, scale=0.5)
    add("pos_embed", 1, (n["image"] // n["patch"]) ** 2 + 1, w, scale=0.5)
    add("patch_embed.proj.weight", w, n["channels"], n["patch"], n["patch"], scale=0.2)
    add("patch_embed.proj.bias", w)
    for i in range(n["depth"]):
        for name, shape in (("attn.qkv", (3 * w, w)), ("attn.proj", (w, w)), ("mlp.fc1", (h, w)),
                            ("mlp.fc2", (w, h))):
            add(f"blocks.{i}.{name}.weight", *shape)
            add(f"blocks.{i}.{name}.bias", shape[0])
        for name in ("norm1", "norm2"):
            add(f"blocks.{i}.{name}.weight", w, about=1, scale=0.2)
            add(f"blocks.{i}.{name}.bias", w, scale=0.2)
    add("norm.weight", w, about=1, scale=0.2)
    add("norm.bias", w, scale=0.2)
    if n["classes"]:
        add("head.weight", n["classes"], w, scale=1)
        add("head.bias", n["classes"])
    read_checkpoint.write(path, out, metadata(o, heads=n["heads"]))


def head(path, *items):
    o = {"classes": 3, "features": 16, "seed": 1, "names": ""}
    settings(o, items)
    random = np.random.default_rng(int(o["seed"]))
    weight = 4 * random.standard_normal((int(o["classes"]), int(o["features"])))
    read_checkpoint.write(path, {
        "classification_head.weight": weight.astype("<f4"),
        "classification_head.bias": random.standard_normal(int(o["classes"])).astype("<f4"),
    }, metadata(o))


def png(path):
    """(height, width, 3) of a PNG that make_pictures.py wrote."""
    with open(path, "rb") as file:
        data = file.read()
    width, height = struct.unpack(">II", data[16:24])
    (size,) = struct.unpack(">I", data[33:37])
    rows = np.frombuffer(zlib.decompress(data[41:41 + size]), "u1").reshape(height, -1)
    return rows[:, 1:].reshape(height, width, 3)


def norm(x, gain, bias, epsilon):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gain + bias


def gelu(x, kind):
    if kind == "quick":
        return x / (1 + np.exp(-1.702 * x))
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def block(x, get, heads, kind, epsilon):
    tokens, width = x.shape
    y = norm(x, get("norm1.weight"), get("norm1.bias"), epsilon)
    q, k, v = (y @ get("qkv.weight").T + get("qkv.bias")).reshape(tokens, 3, heads, -1).transpose(
        1, 2, 0, 3)
    a = q @ k.transpose(0, 2, 1) / math.sqrt(width // heads)
    a = np.exp(a - a.max(-1, keepdims=True))
    a = (a / a.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(tokens, width)
    x = x + a @ get("proj.weight").T + get("proj.bias")
    y = norm(x, get("norm2.weight"), get("norm2.bias"), epsilon)
    y = gelu(y @ get("fc1.weight").T + get("fc1.bias"), kind)
    return x + y @ get("fc2.weight").T + get("fc2.bias")


TIMM = {"qkv": "attn.qkv", "proj": "attn.proj", "fc1": "mlp.fc1", "fc2": "mlp.fc2",
        "norm1": "norm1", "norm2": "norm2"}
CLIP = {"qkv": "attn.in_proj", "proj": "attn.out_proj", "fc1": "mlp.c_fc", "fc2": "mlp.c_proj",
        "norm1": "ln_1", "norm2": "ln_2"}


def load(path):
    return {name: read_checkpoint.floats(kind, data).reshape(shape)
            for name, (kind, shape, data) in read_checkpoint.read(path).items()}


def features_of(w, picture, heads, kind):
    clip = "visual.proj" in w
    weight = w["visual.conv1.weight" if clip else "patch_embed.proj.weight"]
    width, channels, patch, _ = weight.shape
    mean, std = (CLIP_MEAN, CLIP_STD) if clip else ((0.5,) * 3, (0.5,) * 3)
    x = ((picture / 255 - mean) / std).transpose(2, 0, 1)
    side = x.shape[1] // patch
    x = x.reshape(channels, side, patch, side, patch).transpose(1, 3, 0, 2, 4)
    x = x.reshape(side * side, -1) @ weight.reshape(width, -1).T
    x = x if clip else x + w["patch_embed.proj.bias"]
    token = w["visual.class_embedding" if clip else "cls_token"].reshape(1, width)
    places = w["visual.positional_embedding" if clip else "pos_embed"].reshape(-1, width)
    x = np.concatenate([token, x]) + places
    epsilon = 1e-5 if clip else 1e-6
    if clip:
        x = norm(x, w["visual.ln_pre.weight"], w["visual.ln_pre.bias"], epsilon)
    prefix = "visual.transformer.resblocks." if clip else "blocks."
    number = 0
    while any(name.startswith(f"{prefix}{number}.") for name in w):
        def get(name, at=f"{prefix}{number}."):
            stem, _, last = name.partition(".")
            joint = "_" if clip and stem == "qkv" else "."
            return w[at + (CLIP if clip else TIMM)[stem] + joint + last]
        x = block(x, get, heads, kind, epsilon)
        number += 1
    last = "visual.ln_post" if clip else "norm"
    x = norm(x[0], w[last + ".weight"], w[last + ".bias"], epsilon)
    if clip:
        x = x @ w["visual.proj"]
        x = x / np.sqrt((x * x).sum())
    return x


def predict(out, path, *items):
    o = {"heads": 2, "gelu": "", "head": "", "features": "", "border": 0}
    pictures = settings(o, items)
    w = load(path)
    h = load(o["head"]) if o["head"] else w
    name = "classification_head" if "classification_head.weight" in h else "head"
    kind = o["gelu"] or ("quick" if "visual.proj" in w else "exact")
    rows = []
    for picture in pictures:
        pixels, edge = png(picture).astype("f8"), int(o["border"])
        pixels = pixels[edge:len(pixels) - edge, edge:pixels.shape[1] - edge]
        f = features_of(w, pixels, int(o["heads"]), kind)
        rows.append(f if o["features"] else f @ h[name + ".weight"].T + h[name + ".bias"])
    np.save(out, np.array(rows))


def compare(a, b, tolerance):
    a, b = np.load(a), np.load(b)
    if a.shape != b.shape:
        sys.exit(f"shapes {a.shape} and {b.shape}")
    far = np.abs(a - b).max()
    if not far <= float(tolerance):
        sys.exit(f"{far} apart")
    print(f"{a.shape}: the same to {tolerance}")


def mean(out, *terms):
    np.save(out, sum(np.load(terms[i]) * float(terms[i + 1]) for i in range(0, len(terms), 2)))


def mapped(out, logits, columns):
    logits = np.load(logits)
    np.save(out, np.stack([logits[:, [int(i) for i in some.split("+")]].max(1)
                           for some in columns.split(",")], 1))


if __name__ == "__main__":
    {"make": make, "map": mapped, "head": head, "predict": predict, "compare": compare,
     "mean": mean}[sys.argv[1]](*sys.argv[2:])
