#!/usr/bin/env python3
"""Logits of a pre-trained model, a fine-tuned one and their averages:

    make_logits.py FOLDER [KEY=VALUE ...]

Writes y.npy (count) and pm.npy, fm.npy, am.npy, and am-A.npy for every A of alphas, (count,
classes) f32. A model's logits are scale * (signal of the label + noise): pre=1.5 and fine=2 are
the signals, pre_scale and fine_scale the scales, shared the part of the noise that both models
have in common. An average at A is (1-A) PM + A FM, plus some of the signal, which is what
averaging weights may find beyond averaging outputs: bonus. seed."""
import os
import sys

import numpy as np

WORDS = {"count": 400, "classes": 5, "pre": 1.5, "fine": 2, "pre_scale": 1, "fine_scale": 3,
         "shared": 0.3, "bonus": 0.1, "seed": 1}


def make(folder, alphas, o):
    random = np.random.RandomState(int(o["seed"]))  # its numbers are the same in every release
    count, classes = int(o["count"]), int(o["classes"])
    labels = random.randint(classes, size=count)
    signal = np.eye(classes)[labels]
    common = random.standard_normal((count, classes))

    def model(strength, scale):
        own = random.standard_normal((count, classes))
        noise = o["shared"] * common + (1 - o["shared"] ** 2) ** .5 * own
        return scale * (strength * signal + noise)

    pre = model(o["pre"], o["pre_scale"])
    fine = model(o["fine"], o["fine_scale"])
    os.makedirs(folder, exist_ok=True)

    def save(name, numbers):
        np.save(os.path.join(folder, name + ".npy"), numbers)

    save("y", labels)
    save("pm", pre.astype(np.float32))
    save("fm", fine.astype(np.float32))
    for text in ["0.5"] + alphas:
        a = float(text)
        mean = (1 - a) * pre + a * fine + 4 * a * (1 - a) * o["bonus"] * signal
        save("am-" + text if text in alphas else "am", mean.astype(np.float32))
    if "0.5" in alphas:
        save("am", np.load(os.path.join(folder, "am-0.5.npy")))


def main():
    given = dict(word.split("=", 1) for word in sys.argv[2:])
    alphas = [a for a in given.pop("alphas", "").split(",") if a]
    unknown = set(given) - set(WORDS)
    if unknown:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}")
    make(sys.argv[1], alphas, {**WORDS, **{k: float(v) for k, v in given.items()}})


if __name__ == "__main__":
    main()
