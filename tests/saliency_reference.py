#!/usr/bin/env python3
"""Maps of a vision transformer in timm's layout by their definition, with numpy alone: gradients
as differences of the forward pass in vit_reference.py. Holds a CSV of bang explain against them:

    saliency_reference.py gradcam|hirescam|gradients|rollout FILE.csv TOLERANCE [heads=N]

for every picture and model that the CSV names, and the class that it says."""
import csv
import math
import sys

import numpy as np

import vit_reference

STEP = 1e-4
plain_norm = vit_reference.norm


class Watch:
    """Stands in for the norms: keeps what the blocks' first ones put out, and moves one number
    of one of them."""

    def __init__(self, depth, block=None, place=None, step=0.0):
        self.calls, self.depth, self.kept = 0, depth, []
        self.block, self.place, self.step = block, place, step

    def __call__(self, x, gain, bias, epsilon):
        out = plain_norm(x, gain, bias, epsilon)
        block, second = divmod(self.calls, 2)
        self.calls += 1
        if block < self.depth and not second:
            if block == self.block:
                out = out.copy()
                out[self.place] += self.step
            self.kept.append(out)
        return out


def logit(w, picture, heads, which, watch):
    vit_reference.norm = watch
    f = vit_reference.features_of(w, picture, heads, "exact")
    return f @ w["head.weight"][which] + w["head.bias"][which]


def tokens(w, picture, heads, which, block, depth):
    """What a block's first norm puts out, and the logit's gradient there."""
    watch = Watch(depth)
    logit(w, picture, heads, which, watch)
    normed, gradient = watch.kept[block], np.zeros_like(watch.kept[block])
    for place in np.ndindex(normed.shape):
        ends = [logit(w, picture, heads, which, Watch(depth, block, place, step))
                for step in (-STEP, STEP)]
        gradient[place] = (ends[1] - ends[0]) / (2 * STEP)
    return normed[1:], gradient[1:]


def gradcam(w, picture, heads, which, depth):
    a, g = tokens(w, picture, heads, which, depth - 1, depth)
    return np.maximum((a * g.mean(0)).sum(1), 0)


def hirescam(w, picture, heads, which, depth):
    return sum(np.maximum((a * g).sum(1), 0) for a, g in
               (tokens(w, picture, heads, which, block, depth) for block in range(depth)))


def gradients(w, picture, heads, which, depth):
    """Per patch the mean of the largest over the channels; pixels as the network reads them:
    (value/255 - 1/2)/(1/2)."""
    gradient, step = np.zeros(picture.shape), STEP * 255 / 2
    for place in np.ndindex(picture.shape):
        ends = []
        for sign in (-1, 1):
            moved = picture.copy()
            moved[place] += sign * step
            ends.append(logit(w, moved, heads, which, Watch(depth)))
        gradient[place] = (ends[1] - ends[0]) / (2 * STEP)
    patch = w["patch_embed.proj.weight"].shape[2]
    side = len(picture) // patch
    largest = np.abs(gradient).max(2).reshape(side, patch, side, patch)
    return largest.mean((1, 3)).reshape(-1)


def rollout(w, picture, heads, which, depth):
    watch = Watch(depth)
    logit(w, picture, heads, which or 0, watch)
    product = np.eye(len(watch.kept[0]))
    for block, y in enumerate(watch.kept):
        count, width = y.shape
        at = f"blocks.{block}.attn.qkv."
        q, k, _ = (y @ w[at + "weight"].T + w[at + "bias"]).reshape(
            count, 3, heads, -1).transpose(1, 2, 0, 3)
        share = np.exp(q @ k.transpose(0, 2, 1) / math.sqrt(width // heads))
        share = (share / share.sum(-1, keepdims=True)).mean(0)
        product = (share + np.eye(count)) / 2 @ product
    return product[0, 1:]


def main(kind, path, tolerance, *items):
    o = {"heads": 2}
    vit_reference.settings(o, items)
    maps = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            maps.setdefault((row["file"], row["model"], row["class"]), []).append(
                float(row["value"]))
    for (file, model, which), values in maps.items():
        w = vit_reference.load(model)
        depth = len({name.split(".")[1] for name in w if name.startswith("blocks.")})
        picture = vit_reference.png(file).astype("f8")
        want = globals()[kind](w, picture, int(o["heads"]), int(which) if which else None, depth)
        far = np.abs(want - values).max() / np.abs(want).max()
        if not far <= float(tolerance):
            sys.exit(f"{kind} of {file} by {model}: {far} apart")
    print(f"{kind}: {len(maps)} maps are the same to {tolerance}")


if __name__ == "__main__":
    main(*sys.argv[1:])
