#!/usr/bin/env python3
"""Balance by confidence once more, by its definition: hybrids are files made here, logits those
of bang predict, temperatures found by halving intervals in double.

    balance_reference.py scale OUT IN K PREFIX ...       tensors of these prefixes times K
    balance_reference.py check REPORT.json N PRE FINE DATA,DATA.. [PREDICT OPTION ...]
                          of `bang average PRE FINE --balance .. --json`: everything that it says,
                          of layers every N-th that matters and one that does not
    balance_reference.py options REPORT.json PRE         what it found, for bang average
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import read_checkpoint


def layer(name):
    parts = name.split(".")
    for i, part in enumerate(parts):
        if part.isdigit():
            return ".".join(parts[:i + 1])
    return ".".join(parts[:-1]) or name


def scale(out, source, factor, *prefixes):
    tensors, metadata = read_checkpoint.read_file(source)
    for name, (dtype, shape, data) in tensors.items():
        if name.startswith(prefixes):
            numbers = np.frombuffer(data, "<f4") * np.float32(factor)
            tensors[name] = dtype, shape, numbers.astype("<f4").tobytes()
    read_checkpoint.write(out, tensors, metadata)


def logits(model, sources, options, folder):
    out, rows = os.path.join(folder, "logits.npy"), []
    for source in sources:
        subprocess.run(["bang", "predict", "--model", model, "--data", source, "-o", out, "-q",
                        *options], check=True)
        rows.append(np.load(out).astype(float))
    return np.concatenate(rows)


def confidence(z, t=1.0):
    z = z / t
    z = np.exp(z - z.max(1, keepdims=True))
    return float((z.max(1) / z.sum(1)).mean())


def temperature(z, target):
    low, high = -20.0, 20.0  # of its logarithm; confidence falls
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if confidence(z, np.exp(middle)) > target else (low, middle)
    return float(np.exp((low + high) / 2))


def check(report, every, pre, fine, sources, *options):
    with open(report, encoding="utf-8") as file:
        said = json.load(file)
    b, sources = said["balance"], sources.split(",")
    a, metadata = read_checkpoint.read_file(pre)
    c = read_checkpoint.read(fine)
    worst, every = 0.0, int(every)

    def near(what, actual, expected, tolerance=2e-6):
        nonlocal worst
        off = abs(actual - expected) / max(1.0, abs(expected))
        worst = max(worst, off)
        if not off <= tolerance:
            print(f"{what}: {actual} instead of {expected}")

    with tempfile.TemporaryDirectory() as folder:
        def measure(path):
            return logits(path, sources, options, folder)

        def hybrid(choose):
            path = os.path.join(folder, "hybrid.safetensors")
            read_checkpoint.write(path, {n: c[n] if choose(layer(n)) else a[n] for n in a}, metadata)
            z = measure(path)
            return confidence(z), temperature(z, target)

        target = confidence(measure(pre))
        z = measure(fine)
        tau = temperature(z, target)
        near("inputs", b["inputs"], len(z), 0)
        near("pre", b["confidence"]["pre"], target)
        near("fine", b["confidence"]["fine"], confidence(z))
        near("result", b["confidence"]["result"], confidence(measure(said["outputs"][0])))
        near("tau", b["tau"], tau)
        idle = [l for l in b["layers"]
                if l["tau"] == 1 and l["confidence"] == b["confidence"]["pre"]]
        busy = [l for l in b["layers"] if l not in idle]
        for l in idle[:1] + busy[::every]:
            with_it, alone = hybrid(lambda name, l=l: name == l["name"])
            without, rest = hybrid(lambda name, l=l: name != l["name"])
            near(l["name"] + " confidence", l["confidence"], with_it)
            near(l["name"] + " without", l["without"], without)
            near(l["name"] + " tau", l["tau"], (alone * tau / rest) ** 0.5)
    for l in [b, *b["layers"]]:
        near("alpha", l["alpha"], 1 / (1 + l["tau"]), 1e-15)
        near("scale", l["scale"], 2 * l["alpha"], 1e-15)
    names = sorted({layer(n) for n in a})
    if b["layers"] and sorted(l["name"] for l in b["layers"]) != names:
        print("layers:", names)
    print("as numpy has it" if worst <= 2e-6 else f"off by {worst}", len(b["layers"]), "layers")


def rules(report, pre):
    with open(report, encoding="utf-8") as file:
        b = json.load(file)["balance"]
    names = read_checkpoint.read(pre)
    for l in b["layers"]:
        glob = l["name"] if l["name"] in names else l["name"] + ".*"
        print(f"--rule {glob}={l['alpha']!r}")
    if not b["layers"]:
        print(f"--alpha {b['alpha']!r}")


{"scale": scale, "check": check, "options": rules}[sys.argv[1]](*sys.argv[2:])
