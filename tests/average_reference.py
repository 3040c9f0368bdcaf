#!/usr/bin/env python3
"""Every way of combining checkpoints, written once more from its formula with
numpy and nothing of bang's, against what `bang average` wrote:

    average_reference.py make FOLDER [SEED]     base, a, b, c and Fisher weights fa, fb, fc
                                                .safetensors of a model with many types
    average_reference.py METHOD OUT [KEY=VALUE ...] INPUT...

METHOD is linear, slerp, task, ties, dare, stock or fisher. KEY is weights=W,W,..
rule='GLOB:W,W,..' (several) base=FILE fisher=FILE (one for each input) scale density
drop seed scope, or for linear balance target and json=FILE, in which the numbers
of --balance are looked up.

linear, ties, dare and fisher are compared byte for byte: the header files say in
which order and type they are computed. slerp, task, stock and --balance depend on
sums over whole tensors, or reorder their formula; there the number must be the
exact one up to the error that this many float operations can make, then rounded
once. Exit status 1 and a line on what is wrong when it is not so."""
import fnmatch
import json
import math
import re
import sys

import numpy as np

import read_checkpoint

REAL = {"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"}
STEP = {"F64": 2.0**-53, "F32": 2.0**-24, "F16": 2.0**-11, "BF16": 2.0**-8, "F8_E4M3": 2.0**-4,
        "F8_E5M2": 2.0**-3}
LEAST = {"F64": 0, "F32": 2.0**-150, "F16": 2.0**-25, "BF16": 2.0**-134, "F8_E4M3": 2.0**-10,
         "F8_E5M2": 2.0**-17}


def e4m3_table():
    code = np.arange(128)
    exponent, mantissa = code >> 3, code & 7
    table = np.where(exponent == 0, mantissa / 8 * 2.0**-6,
                     (1 + mantissa / 8) * 2.0**(exponent - 7.0))
    table[127] = np.nan
    return np.concatenate([table, -table])


E4M3 = e4m3_table()


def numbers(tensor):
    """As float64, into which each of these types fits."""
    dtype, _, data = tensor
    if dtype == "F8_E4M3":
        return E4M3[np.frombuffer(data, "u1")]
    if dtype == "F8_E5M2":
        return (np.frombuffer(data, "u1").astype("<u2") << 8).view("<f2").astype("f8")
    return read_checkpoint.floats(dtype, data)


def rounded(dtype, x):
    """float64 to the bytes of dtype, to nearest, ties to even; one NaN."""
    x = np.where(np.isnan(x), np.nan, x)
    with np.errstate(over="ignore"):
        if dtype in ("F64", "F32", "F16"):
            return x.astype({"F16": "<f2", "F32": "<f4", "F64": "<f8"}[dtype]).tobytes()
        if dtype == "BF16":
            exponent = np.maximum(np.frexp(x)[1], -125)  # of a number in [1/2, 1) times 2^e
            with np.errstate(invalid="ignore"):
                y = np.ldexp(np.rint(np.ldexp(x, 8 - exponent)), exponent - 8)
            return (np.where(np.isinf(x), x, y).astype("<f4").view("<u4") >> 16).astype(
                "<u2").tobytes()
        if dtype == "F8_E5M2":
            table = (np.arange(124, dtype="<u2") << 8).view("<f2").astype("f8")
        else:
            table = E4M3[:127]
    at = np.clip(np.searchsorted(table, np.abs(x)), 1, len(table) - 1)
    below, above = np.abs(x) - table[at - 1], table[at] - np.abs(x)
    code = np.where((below < above) | ((below == above) & (at % 2 == 1)), at - 1, at)
    return (code | np.where(np.signbit(x), 128, 0)).astype("u1").tobytes()


def layer(name):
    parts = name.split(".")
    for i, part in enumerate(parts):
        if re.fullmatch("[0-9]+", part):
            return ".".join(parts[:i + 1])
    return ".".join(parts[:-1]) if len(parts) > 1 else name


class Job:
    def __init__(self, method, out, arguments):
        self.method, self.out = method, read_checkpoint.read(out)
        self.o = {"scale": "1", "density": "0.2", "drop": "0.9", "seed": "1", "scope": None,
                  "balance": None, "target": None, "json": None, "weights": None, "base": None}
        self.rules, self.fishers, self.inputs = [], [], []
        for argument in arguments:
            key, equal, value = argument.partition("=")
            if not equal:
                self.inputs.append(read_checkpoint.read(argument))
            elif key == "rule":
                glob, weights = value.rsplit(":", 1)
                self.rules.append((glob, [float(w) for w in weights.split(",")]))
            elif key == "fisher":
                self.fishers.append(read_checkpoint.read(value))
            elif key in self.o:
                self.o[key] = value
            else:
                sys.exit(f"{key}: unknown")
        n = len(self.inputs)
        self.weights = ([float(w) for w in self.o["weights"].split(",")] if self.o["weights"]
                        else [1 / n] * n)
        self.base = read_checkpoint.read(self.o["base"]) if self.o["base"] else None
        self.feeds = ([self.base] if self.base else []) + self.inputs + self.fishers
        self.mixed = [k for k in self.inputs[0] if self.inputs[0][k][0] in REAL]

    def of(self, name):
        found = self.weights
        for glob, weights in self.rules:
            if fnmatch.fnmatchcase(name, glob):
                found = weights
        return found

    def type(self, name):
        """What is computed in."""
        wide = "F64" in [self.out[name][0]] + [t[name][0] for t in self.feeds]
        return np.float64 if wide else np.float32

    def feed(self, feed, name):
        return numbers(feed[name]).astype(self.type(name))

    def group(self, name, usual):
        return {"tensor": name, "layer": layer(name), "model": ""}[self.o["scope"] or usual]

    def groups(self, usual):
        out = {}
        for name in filter(lambda name: not is_statistic(name), self.mixed):
            out.setdefault(self.group(name, usual), []).append(name)
        return out

    def vector(self, feed, names):
        return np.concatenate([numbers(feed[k]) for k in names])


def linear(job, name):
    R, total, ones, others = job.type(name), None, [], False
    for x, w in zip(job.inputs, job.of(name)):
        if w == 0:
            continue
        ones += [x] if w == 1 else []
        others |= w != 1
        term = R(w) * job.feed(x, name)
        total = term if total is None else total + term
    if len(ones) == 1 and not others and ones[0][name][0] == job.out[name][0]:
        return ones[0][name][2]
    return rounded(job.out[name][0], (0 * job.feed(x, name) if total is None else total).astype("f8"))


def ties_thresholds(job):
    for names in job.groups("model").values():
        for i, x in enumerate(job.inputs):
            d = np.concatenate([np.abs((job.feed(x, k) - job.feed(job.base, k)).astype("f4"))
                                for k in names])
            keep = max(1, math.floor(float(job.o["density"]) * len(d) + 1e-6))
            for k in names:
                job.thresholds[k, i] = np.sort(d)[len(d) - keep] if len(d) else np.float32(0)


def ties(job, name):
    R, b, zero = job.type(name), job.feed(job.base, name), 0 * job.feed(job.base, name)
    if not hasattr(job, "thresholds"):
        job.thresholds = {}
        ties_thresholds(job)
    changes = []
    for i, (x, w) in enumerate(zip(job.inputs, job.of(name))):
        d = job.feed(x, name) - b
        changes.append((np.where(np.abs(d.astype("f4")) < job.thresholds[name, i], R(0), d), R(w)))
    elected = zero
    for t, w in changes:
        elected = elected + w * t
    upper, lower = zero, zero
    for t, w in changes:
        agrees = np.sign(t) * np.sign(elected) > 0
        upper, lower = upper + np.where(agrees, w * t, R(0)), lower + np.where(agrees, w, R(0))
    with np.errstate(invalid="ignore"):
        merged = b + R(float(job.o["scale"])) * (upper / lower)
    return rounded(job.out[name][0], np.where(lower == 0, b, merged).astype("f8"))


def philox(counter, key):
    """Salmon et al. 2011: Philox 4x32 of 10 rounds; words as uint64 arrays."""
    mask = np.uint64(0xFFFFFFFF)
    c, (k0, k1) = [np.asarray(x, "u8") for x in counter], key
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), b & mask,
             (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), a & mask]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def coins(seed, name, model, count):
    full = (1 << 64) - 1
    x = (seed + 0x9E3779B97F4A7C15) & full
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & full
    x = (x ^ x >> 27) * 0x94D049BB133111EB & full
    x ^= x >> 31
    key = 0xCBF29CE484222325
    for byte in name.encode():
        key = (key ^ byte) * 0x100000001B3 & full
    x ^= key
    block = np.arange((count + 3) // 4, dtype="u8")
    purpose = int.from_bytes(b"dare", "little")
    words = philox([block, 0 * block, 0 * block + np.uint64(model), 0 * block + np.uint64(purpose)],
                   (x & 0xFFFFFFFF, x >> 32))
    return np.stack(words, axis=1).reshape(-1)[:count]


def dare(job, name):
    R, b, drop = job.type(name), job.feed(job.base, name), float(job.o["drop"])
    total = 0 * b
    for i, (x, w) in enumerate(zip(job.inputs, job.of(name))):
        if w == 0:
            continue
        part = R(float(job.o["scale"]) * w / (1 - drop)) * (job.feed(x, name) - b)
        kept = coins(int(job.o["seed"]), name, i + 1, len(b)) >= math.ceil(drop * 2**32)
        total = total + np.where(kept, part, R(0))
    return rounded(job.out[name][0], (b + total).astype("f8"))


def fisher(job, name):
    R, weights = job.type(name), job.of(name)
    upper = lower = mean = 0 * job.feed(job.inputs[0], name)
    for x, f, w in zip(job.inputs, job.fishers, weights):
        part = R(w) * job.feed(f, name)
        upper, lower = upper + part * job.feed(x, name), lower + part
        mean = mean + R(w / sum(weights)) * job.feed(x, name)
    with np.errstate(invalid="ignore", divide="ignore"):
        return rounded(job.out[name][0], np.where(lower <= 0, mean, upper / lower).astype("f8"))


def dot(x, y):
    """Added exactly: what a BLAS makes of it depends on which one is installed."""
    return math.fsum((x * y).tolist())


def norm(x):
    return math.sqrt(dot(x, x))


def sum_of(terms):
    """The exact number and what bounds its error: the sum of the terms' sizes."""
    return sum(w * x for x, w in terms), sum(np.abs(w * x) for x, w in terms)


def slerp(job, name):
    t = job.of(name)[1]
    names = job.groups("tensor")[job.group(name, "tensor")]
    u, v = (job.vector(x, names) for x in job.inputs)
    w = (1 - t, t)
    if t not in (0, 1) and np.any(u) and np.any(v):
        u, v = u / norm(u), v / norm(v)
        o = 2 * math.atan2(norm(u - v), norm(u + v))
        if math.sin(o) >= 1e-4:
            w = (math.sin((1 - t) * o) / math.sin(o), math.sin(t * o) / math.sin(o))
    return sum_of([(numbers(x[name]), w) for x, w in zip(job.inputs, w)])


def task(job, name):
    b, scale = numbers(job.base[name]), float(job.o["scale"])
    terms = [(b, 1)]
    for x, w in zip(job.inputs, job.of(name)):
        terms += [(numbers(x[name]), scale * w), (b, -scale * w)]
    return sum_of(terms)


def stock(job, name):
    names, n = job.groups("tensor")[job.group(name, "tensor")], len(job.inputs)
    d = [job.vector(x, names) - job.vector(job.base, names) for x in job.inputs]
    d = [x / norm(x) if np.any(x) else None for x in d]
    pairs = [dot(d[i], d[j]) for i in range(n) for j in range(i)
             if d[i] is not None and d[j] is not None]
    t = 1.0
    if pairs:
        c = sum(pairs) / len(pairs)
        t = min(max(n * c / (1 + (n - 1) * c), 0), 1) if c > 0 else 0.0
    return sum_of([(numbers(job.base[name]), 1 - t)] +
                  [(numbers(x[name]), t / n) for x in job.inputs])




def find_scales(job):
    """{(input, layer or None): (|x_0|, |change|, scale)} and the target."""
    layers, first = {}, job.inputs[0]
    for name in filter(lambda name: not is_statistic(name), job.mixed):
        layers.setdefault(layer(name), []).append(name)
    sizes = {(i, k): (norm(job.vector(first, names)),
                      norm(job.vector(x, names) - job.vector(first, names)))
             for i, x in enumerate(job.inputs) if i for k, names in layers.items()}
    ratios = [change / size for size, change in sizes.values() if size > 0 and change > 0]
    target = float(job.o["target"]) if job.o["target"] else float(np.median(ratios))
    if job.o["balance"] == "norm":
        sizes = {(i, None): tuple(math.sqrt(sum(s[k]**2 for (j, _), s in sizes.items() if j == i))
                                  for k in (0, 1)) for i in range(1, len(job.inputs))}
    return target, {key: (size, change, target * size / change if size > 0 and change > 0 else 1.0)
                    for key, (size, change) in sizes.items()}


def balance(job, name):
    if not hasattr(job, "scales"):
        job.target, job.scales = find_scales(job)
    first, weights = numbers(job.inputs[0][name]), job.of(name)
    terms = [(first, sum(weights))]
    for i, (x, w) in enumerate(zip(job.inputs, weights)):
        if i:
            s = job.scales[i, None if job.o["balance"] == "norm" else layer(name)][2]
            terms += [(numbers(x[name]), w * s), (first, -w * s)]
    return sum_of(terms)


def check_scales(job, path):
    with open(path, encoding="utf-8") as file:
        told = json.load(file)["balance"]
    found = {(s["input"], s.get("layer")): (s["norm"], s["change"], s["scale"])
             for s in told["scales"]}
    if set(found) != set(job.scales) or not math.isclose(told["target"], job.target, rel_tol=1e-12):
        sys.exit(f"{path}: other layers or target {told['target']}, not {job.target}")
    for key, values in job.scales.items():
        if not np.allclose(values, found[key], rtol=1e-12, atol=0):
            sys.exit(f"{path}: {key}: {found[key]}, not {values}")


def is_statistic(name):
    return name.endswith(("running_mean", "running_var"))


def statistic(job, name):
    """Of batch norm: linear, whatever the method."""
    terms = [(numbers(x[name]), w) for x, w in zip(job.inputs, job.of(name))]
    if job.base:
        terms.append((numbers(job.base[name]), 1 - sum(job.of(name))))
    return sum_of(terms)


def check_copy(job, name):
    which = -1 if name.endswith("num_batches_tracked") else 0
    if job.out[name] != job.inputs[which][name]:
        sys.exit(f"{name}: not as in the input")


def check(method, out, *arguments):
    job = Job(method, out, arguments)
    if set(job.out) != set(job.inputs[0]):
        sys.exit("not the names of the first input")
    exact = {"linear": linear, "ties": ties, "dare": dare, "fisher": fisher}
    near = {"slerp": slerp, "task": task, "stock": stock}
    compute = balance if job.o["balance"] else exact.get(method) or near[method]
    for name, (dtype, shape, data) in job.out.items():
        if shape != job.inputs[0][name][1]:
            sys.exit(f"{name}: the shape is {shape}")
        if name not in job.mixed:
            check_copy(job, name)
        elif compute in exact.values() and (method == "linear" or not is_statistic(name)):
            want = compute(job, name)
            if data != want:
                x, y = numbers((dtype, shape, data)), numbers((dtype, shape, want))
                at = int(np.argmax((x != y) & ~(np.isnan(x) & np.isnan(y))))
                sys.exit(f"{name}: number {at} is {x[at]!r}, not {y[at]!r}")
        else:
            want, size = (statistic if is_statistic(name) else compute)(job, name)
            work = STEP["F64" if job.type(name) is np.float64 else "F32"]
            off = np.abs(numbers((dtype, shape, data)) - want)
            # each weight, product and sum is rounded once: 3 for each of the feeds; weights that
            # follow from sums over tensors carry what those sums were rounded by: a few steps of
            # F64, since they are formed in eight lanes and blocks
            room = np.abs(want) * STEP[dtype] * (1 + 1e-6) + LEAST[dtype] + \
                (3 * len(job.feeds) * work + 16 * STEP["F64"]) * size
            if not np.all(off <= room):
                at = int(np.argmax(~(off <= room)))
                sys.exit(f"{name}: number {at} is off by {off[at]:g}, allowed is {room[at]:g}")
    if job.o["json"]:
        check_scales(job, job.o["json"])
    print(f"{len(job.out)} tensors, {method} as numpy says")


# Sizes cross the blocks in which numbers are read and computed, and none is round.
SHAPES = [("odd", "U8", (3,)), ("embed.weight", "BF16", (211, 317)),
          ("layers.0.attn.weight", "F32", (101, 103)), ("layers.0.attn.bias", "F32", (101,)),
          ("layers.0.norm.running_mean", "F32", (7,)),
          ("layers.0.norm.num_batches_tracked", "I64", ()),
          ("layers.1.attn.weight", "F16", (37, 41)), ("layers.1.attn.bias", "F16", (37,)),
          ("layers.10.attn.weight", "F64", (13, 17)), ("layers.10.scale", "F32", ()),
          ("layers.10.empty", "F32", (0, 5)), ("layers.11.small", "F8_E4M3", (61,)),
          ("layers.11.smaller", "F8_E5M2", (67,)), ("layers.12.still", "F32", (9,)),
          ("mask", "BOOL", (5,)), ("phase", "C64", (2,)), ("quarter", "F4", (3, 2)),
          ("head.weight", "F32", (10, 37)), ("head.bias", "F32", (10,))]


def make(folder, seed="1"):
    random = np.random.default_rng(int(seed))
    base = {}
    for name, dtype, shape in SHAPES:
        count = math.prod(shape)
        if dtype in REAL:
            base[name] = random.standard_normal(count)
        else:
            base[name] = bytes(i * 7 % 2 for i in range(count * read_checkpoint.BITS[dtype] // 8))
    for k, model in enumerate(("base", "a", "b", "c", "fa", "fb", "fc")):
        out = {}
        for name, dtype, shape in SHAPES:
            data = base[name]
            if name.endswith("num_batches_tracked"):
                data = int(k).to_bytes(8, "little")
            elif dtype in REAL:
                # parts of the change are common to all, so that angles are no right ones
                rng = np.random.default_rng([int(seed), k, len(name)])
                common = np.random.default_rng(len(name)).standard_normal(len(data))
                change = rng.standard_normal(len(data)) + common
                x = data + 0.1 * change * (k > 0) * (name != "layers.12.still")
                if model.startswith("f"):  # none below 0, some all 0
                    x = np.where(np.arange(len(data)) % 5 == 0, 0, change * change)
                data = rounded(dtype, x)
            out[name] = (dtype, shape, data)
        rows = list(out.items())
        if k % 2:  # another order in every other file
            rows.reverse()
        read_checkpoint.write(f"{folder}/{model}.safetensors", dict(rows),
                              {"format": "pt", "by": model}, ordered=False)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(*sys.argv[2:])
    else:
        check(*sys.argv[1:])
