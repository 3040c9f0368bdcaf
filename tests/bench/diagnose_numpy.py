#!/usr/bin/python3
"""NumPy's side of the benchmark `diagnose`: the same quantities.

    diagnose_numpy.py plain|blocks

`plain` takes whole arrays, as one writes it; `blocks` takes as many rows at a time as stay in
the cache, which is twice as fast and needs less memory. Neither loops over rows or classes.
The bootstrap has 1000 replicates, drawn as counts of the rows of each pattern rather than
row by row.

Says "ready VERSION", then answers each line "LABELS PRE FINE AVG", with tabs, with the wall
and the CPU seconds, the process's peak memory in bytes, and some of the results."""
import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "2"
import sys
import time

import numpy as np

BLOCK = 1 << 18 if sys.argv[1] == "blocks" else 1 << 60  # numbers
ROLES = ("pre", "fine", "avg", "ose", "ose_probabilities", "pre_calibrated", "fine_calibrated",
         "calibrated_ose", "calibrated_ose_probabilities")


def blocks(*arrays):
    step = max(1, BLOCK // arrays[0].shape[1])
    for first in range(0, len(arrays[0]), step):
        rows = slice(first, first + step)
        yield rows, [a[rows].astype(np.float64) for a in arrays]


def softmax(z):
    e = z - z.max(axis=1, keepdims=True)
    np.exp(e, out=e)
    e /= e.sum(axis=1, keepdims=True)
    return e


def fit_temperature(logits, y):
    """Newton's method for the NLL in b = 1/T, which is convex."""
    b = 1.0
    for _ in range(50):
        slope = bend = 0.0
        for rows, (z,) in blocks(logits):
            z -= z.max(axis=1, keepdims=True)
            p = softmax(b * z)
            mean = np.einsum("ij,ij->i", p, z)
            z2 = z * z
            slope += (mean - z[np.arange(len(z)), y[rows]]).sum()
            bend += (np.einsum("ij,ij->i", p, z2) - mean * mean).sum()
        step = slope / bend
        b = max(b - step, b / 3)
        if abs(step) < 1e-10 * b:
            break
    return 1 / b


def balance_temperature(logits, target):
    """Newton's method for a mean confidence."""
    b = 1.0
    for _ in range(50):
        value = slope = 0.0
        for _, (z,) in blocks(logits):
            z -= z.max(axis=1, keepdims=True)
            p = softmax(b * z)
            top = p.max(axis=1)
            value += top.sum()
            slope -= (top * np.einsum("ij,ij->i", p, z)).sum()
        step = (value / len(logits) - target) / (slope / len(logits))
        b = min(max(b - step, b / 3), b * 3)
        if abs(step) < 1e-10 * b:
            break
    return 1 / b


def score(p, y, out, rows):
    """Per sample: confidence, right, NLL, Brier score, margin, prediction."""
    here = np.arange(len(p))
    best = p.argmax(axis=1)
    true = p[here, y]
    out["confidence"][rows] = top = p[here, best]
    out["right"][rows] = best == y
    out["prediction"][rows] = best
    with np.errstate(divide="ignore"):
        out["nll"][rows] = -np.log(true)
    out["brier"][rows] = np.einsum("ij,ij->i", p, p) - 2 * true + 1
    p[here, best] = -1
    second = p.max(axis=1)
    p[here, best] = top
    out["margin"][rows] = np.where(best == y, top - second, true - top)


def calibration(confidence, right, bins):
    """ECE, MCE, RMS from the bin of every sample."""
    count = np.bincount(bins, minlength=15)
    there = count > 0
    gap = np.abs(np.bincount(bins, right, 15) - np.bincount(bins, confidence, 15))[there]
    gap /= count[there]
    share = count[there] / len(bins)
    return (share * gap).sum(), gap.max(), np.sqrt((share * gap * gap).sum())


def diagnose(paths):
    y = np.load(paths[0])
    pre, fine, avg = (np.load(path, mmap_mode="r") for path in paths[1:])
    n = len(y)
    t = fit_temperature(pre, y), fit_temperature(fine, y)
    kinds = {"confidence": "f8", "right": "?", "nll": "f8", "brier": "f8", "margin": "f8",
             "prediction": "i4"}
    of = {role: {key: np.empty(n, kind) for key, kind in kinds.items()} for role in ROLES}
    for rows, (a, b, c) in blocks(pre, fine, avg):
        labels = y[rows]
        pa, pb = softmax(a), softmax(b)
        sa, sb = softmax(a / t[0]), softmax(b / t[1])
        for role, p in (("pre", pa), ("fine", pb), ("avg", softmax(c)),
                        ("ose", softmax((a + b) / 2)), ("ose_probabilities", (pa + pb) / 2),
                        ("pre_calibrated", sa), ("fine_calibrated", sb),
                        ("calibrated_ose", softmax((a / t[0] + b / t[1]) / 2)),
                        ("calibrated_ose_probabilities", (sa + sb) / 2)):
            score(p, labels, of[role], rows)
    out = {"temperature": t, "balance": balance_temperature(fine, of["pre"]["confidence"].mean())}
    for role in ROLES:
        m = of[role]
        c, r = m["confidence"], m["right"]
        out[role] = [r.mean(), c.mean(), m["nll"].mean(), m["brier"].mean()]
        out[role] += calibration(c, r, np.clip(np.ceil(15 * c) - 1, 0, 14).astype(int))
        if role in ROLES[:4]:
            at = np.empty(n, int)
            at[np.argsort(c)] = np.arange(n) * 15 // n
            out[role] += calibration(c, r, at)
    right = [of[role]["right"] for role in ROLES]
    group = right[0] * 4 + right[1] * 2 + right[2]
    counts = np.bincount(group, minlength=8)
    out["groups"] = counts[::-1] / n
    pair = np.bincount(group // 2, minlength=4)
    out["margins"] = [np.bincount(group // 2, of[role]["margin"], 4) / pair for role in ROLES[:3]]
    out["diversity"] = [[(of[i]["prediction"] == of[j]["prediction"]).mean(),
                         np.corrcoef(of[i]["right"], of[j]["right"])[0, 1]]
                        for i in ROLES[:4] for j in ROLES[:4] if i < j]
    pattern = sum(r.astype(np.int64) << i for i, r in enumerate(right))
    found, size = np.unique(pattern, return_counts=True)
    drawn = np.random.default_rng(1).multinomial(n, size / n, 1000)
    has = (found[:, None] >> np.arange(len(ROLES))) & 1
    accuracy = drawn @ has / n
    out["intervals"] = np.quantile(accuracy, [0.025, 0.975], axis=0)
    out["difference"] = np.quantile(accuracy[:, 2] - accuracy[:, 1], [0.025, 0.975])
    return out


def peak():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def main():
    print("ready NumPy", np.__version__, sys.argv[1], flush=True)
    for line in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        found = diagnose(line.rstrip("\n").split("\t"))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(wall, cpu, peak(), found["avg"][0], found["calibrated_ose"][0],
              found["temperature"][1], found["fine"][2], found["pre"][4], flush=True)


main()
