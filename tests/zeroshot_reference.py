#!/usr/bin/env python3
"""A zero-shot head by its definition, in numpy and double, from a CLIP in OpenAI's layout:

    zeroshot_reference.py HEAD CLIP VOCABULARY CLASSES TEMPLATES HEADS quick|exact

Says how far HEAD is from it, in units of its largest number; exit status 1 beyond 1e-4."""
import math
import sys

import numpy as np

import clip_tokenizer
import read_checkpoint

TYPES = {"F16": "<f2", "F32": "<f4"}


def load(path):
    return {name: np.frombuffer(data, TYPES[dtype]).reshape(shape).astype(float)
            for name, (dtype, shape, data) in read_checkpoint.read(path).items()}


def norm(x, t, name):
    x = x - x.mean(axis=-1, keepdims=True)
    x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)
    return x * t[name + ".weight"] + t[name + ".bias"]


def attention(x, t, name, heads):
    n, width = x.shape
    qkv = x @ t[name + "attn.in_proj_weight"].T + t[name + "attn.in_proj_bias"]
    q, k, v = (part.reshape(n, heads, -1).transpose(1, 0, 2) for part in np.split(qkv, 3, axis=1))
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(width // heads)
    scores[:, np.triu(np.ones((n, n), bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    out = (weights @ v).transpose(1, 0, 2).reshape(n, width)
    return out @ t[name + "attn.out_proj.weight"].T + t[name + "attn.out_proj.bias"]


def gelu(x, kind):
    if kind == "quick":
        return x / (1 + np.exp(-1.702 * x))
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def encode(ids, t, heads, kind):
    x = t["token_embedding.weight"][ids] + t["positional_embedding"]
    layer = 0
    while f"transformer.resblocks.{layer}.ln_1.weight" in t:
        name = f"transformer.resblocks.{layer}."
        x = x + attention(norm(x, t, name + "ln_1"), t, name, heads)
        inner = norm(x, t, name + "ln_2") @ t[name + "mlp.c_fc.weight"].T
        inner = gelu(inner + t[name + "mlp.c_fc.bias"], kind)
        x = x + inner @ t[name + "mlp.c_proj.weight"].T + t[name + "mlp.c_proj.bias"]
        layer += 1
    return (norm(x, t, "ln_final") @ t["text_projection"])[np.argmax(ids)]


def unit(x):
    return x / np.linalg.norm(x)


def lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().rstrip("\n").split("\n")


def main(head, clip, vocabulary, classes, templates, heads, kind):
    t, made = load(clip), load(head)
    tokenizer = clip_tokenizer.Tokenizer(clip_tokenizer.lines_of(vocabulary))
    context = len(t["positional_embedding"])
    rows = []
    for line in lines(classes):
        name = line.split("\t")[-1]
        features = []
        for template in lines(templates):
            _, ids = tokenizer.encode(template.replace("{}", name), context)
            ids = np.array(ids + [0] * (context - len(ids)))
            features.append(unit(encode(ids, t, int(heads), kind)))
        rows.append(unit(np.mean(features, axis=0)) * np.exp(t["logit_scale"]))
    expected = np.array(rows)
    weight, bias = made["classification_head.weight"], made["classification_head.bias"]
    if weight.shape != expected.shape or bias.shape != (len(rows),) or bias.any():
        sys.exit(f"{head}: shapes {weight.shape} and {bias.shape}, or a bias that is not 0")
    error = abs(weight - expected).max() / abs(expected).max()
    if not error < 1e-4:
        sys.exit(f"{head}: is {error:.2g} away")
    print(f"{head}: {len(rows)} classes of {weight.shape[1]} numbers as numpy has them")


if __name__ == "__main__":
    main(*sys.argv[1:])
