"""What a diagnosis of models is made of, from its definitions: files, members, calibration,
temperatures, statistics. numpy alone, float64, nothing of bang's. Part of
diagnose_reference.py, whose first lines say how results are compared."""
import json
import math
import os
from fractions import Fraction
from statistics import NormalDist

import numpy as np

COLDEST, HOTTEST = 1e-9, 1e9  # limits of a temperature
PAIRS = ("TT", "TF", "FT", "FF")
GROUPS = ("TTT", "TTF", "TFT", "TFF", "FTT", "FTF", "FFT", "FFF")
DIFFERENCES = (("avg", "pre"), ("avg", "fine"), ("avg", "ose"), ("fine", "pre"),
               ("ose", "pre"), ("ose", "fine"), ("calibrated_ose", "ose"),
               ("avg", "calibrated_ose"))
FOUR = ("pre", "fine", "avg", "ose")
CURVES = FOUR + ("pre_calibrated", "fine_calibrated")
RESAMPLES = 4000  # of the bootstrap here


class Near:
    """A number that may differ a little: by `relative` of itself or by `absolute`."""

    def __init__(self, value, relative=1e-9, absolute=1e-12):
        self.value, self.relative, self.absolute = float(value), relative, absolute

    def __repr__(self):
        return f"{self.value!r} to {self.relative:g} of it or {self.absolute:g}"

    def meets(self, found):
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            return False
        return abs(found - self.value) <= max(self.relative * abs(self.value), self.absolute)


class Anything:
    """A value that the definition does not settle."""


def near(value, relative=1e-9, absolute=1e-12):
    return None if value is None or math.isnan(value) else Near(value, relative, absolute)


# ---- Files ----


def number_list(text):
    out = []
    for word in text.replace(",", " ").split():
        first, dash, last = word.partition("-")
        out += range(int(first), int(last) + 1) if dash else [int(first)]
    return out


def class_outputs(where, names=None):
    """For every class the outputs of the model that stand for it; None: each for itself."""
    if where is None:
        return None
    if where.endswith(".json"):
        with open(where, encoding="utf-8") as file:
            return [c["outputs"] for c in json.load(file)["classes"]]
    if where.endswith(".npy"):
        return [[int(k)] for k in np.load(where)]
    if os.path.exists(where):
        with open(where, encoding="utf-8") as file:
            text = file.read()
        if names:
            words = [w.strip() for line in text.splitlines() for w in line.split(",")]
            return [[names.index(w)] for w in words if w]
        where = text
    return [[k] for k in number_list(where)]


def given_probabilities(path, outputs):
    """As they are; those of a subset sum to 1."""
    p = np.load(path).astype(np.float64)
    if outputs is None:
        return p
    p = np.stack([p[:, own].max(axis=1) for own in outputs], axis=1)
    whole = p.sum(axis=1, keepdims=True)
    return np.where(whole > 0, p / np.where(whole > 0, whole, 1), 1 / p.shape[1])


def logarithm(p):
    """Of probabilities, 0 as the least double. By libm: with numpy's own the last bit depends on
    the processor, and decides where sums of logarithms would be equal."""
    return np.array([[math.log(max(x, 5e-324)) for x in row] for row in p.tolist()])


def logits(path, outputs, probabilities):
    z = np.load(path).astype(np.float64)
    if probabilities:
        z = logarithm(z)
    if outputs is None:
        return z
    return np.stack([z[:, own].max(axis=1) for own in outputs], axis=1)


def classes_of_labels(path, outputs, numbers):
    """The class of every row, -1 where the row is left out."""
    y = [int(v) for v in np.load(path)]
    if outputs is None:
        return np.array(y)
    if numbers == "auto":
        numbers = "outputs" if max(y) >= len(outputs) else "places"
    if numbers == "places":
        return np.array(y)
    place = {k: c for c, own in enumerate(outputs) for k in own}
    return np.array([place.get(v, -1) for v in y])


# ---- Members: what a model, or an ensemble, says ----


def log_softmax(z):
    z = z - z.max(axis=1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=1, keepdims=True))


class Member:
    """logp (n, K) and the prediction, with the rows whose prediction rounding could turn. p:
    given probabilities; exact: no bit of them is in doubt."""
    p, exact = None, False

    def __init__(self, score, logp, parts=()):
        self.logp, self.prediction = logp, score.argmax(axis=1)  # the first of equals
        self.doubt = np.zeros(len(score), bool)
        self.mixed = len(parts) > 0  # logits that are equal may differ in a bit
        if not parts:
            return
        at = self.prediction[:, None]
        top = np.take_along_axis(score, at, 1)
        same = np.ones(score.shape, bool)
        for part in parts:  # equal in every part: equal in the sum, whatever the rounding
            same &= part == np.take_along_axis(part, at, 1)
        size = np.maximum(np.abs(score), np.abs(top))
        self.doubt = ((top - score <= 1e-10 * size) & ~same).any(axis=1)


def of_logits(z, scale=1.0):
    return Member(z, log_softmax(z * scale))


def of_given(p, whole):
    """Probabilities of a file; whole: of all its outputs, so that no bit is in doubt."""
    with np.errstate(divide="ignore"):
        member = Member(p, logarithm(p))
    member.p, member.exact = p, whole
    return member


def of_sum(parts, weights):
    z = sum(w * part for w, part in zip(weights, parts))
    exact = all(w in (0.0, 0.5, 1.0) for w in weights)
    return Member(z, log_softmax(z), () if exact else parts)


def of_probabilities(parts, weights, given=None):
    """sum_i w_i softmax(z_i), or of probabilities that are given, in logarithms so that none
    becomes 0."""
    with np.errstate(divide="ignore"):
        each = [log_softmax(part) for part in parts] if given is None else [
            logarithm(p) for p in given]
        logp = np.logaddexp.reduce([np.log(w) + part for w, part in zip(weights, each)])
    member = Member(np.exp(logp), logp, parts)
    # two models that are sure of two classes: halves to the bit
    sure = np.logical_and.reduce([np.sort(log_softmax(part), axis=1)[:, -2:-1].max(
        axis=1, initial=-np.inf) < -40 for part in parts])
    member.doubt &= ~sure
    return member


def score(member, labels):
    """What is measured of a member, sample by sample; labels None: confidence alone."""
    p = np.exp(member.logp) if member.p is None else member.p
    rows = np.arange(len(p))
    member.confidence = p.max(axis=1)
    if labels is None:
        return member
    member.right = member.prediction == labels
    member.nll = -member.logp[rows, labels]
    hit = np.zeros(p.shape)
    hit[rows, labels] = 1
    member.brier = ((p - hit) ** 2).sum(axis=1)
    others = np.where(hit == 1, -np.inf, p)
    member.margin = p[rows, labels] - others.max(axis=1)
    return member


# ---- Calibration ----


def bin_gaps(bins, n):
    """ECE, MCE and RMS of (count, confidence, accuracy)."""
    gaps = [(count, abs(accuracy - confidence)) for count, confidence, accuracy in bins if count]
    return {"ece": sum(c * g for c, g in gaps) / n, "mce": max(g for _, g in gaps),
            "rms": math.sqrt(sum(c * g * g for c, g in gaps) / n)}


def equal_width(confidence, right, count):
    """Bins, and how many rows stand so near an edge that rounding could move them."""
    at = np.clip(np.ceil(count * confidence) - 1, 0, count - 1).astype(int)
    bins = []
    for b in range(count):
        inside = at == b
        n = int(inside.sum())
        bins.append((n, confidence[inside].mean() if n else math.nan,
                     right[inside].mean() if n and right is not None else math.nan))
    edge = np.rint(count * confidence)
    close = (np.abs(count * confidence - edge) < 1e-9) & (edge >= 1) & (edge < count)
    close &= 1 / np.rint(1 / confidence) != confidence  # 1/m: m equal classes, to the bit
    return bins, int(close.sum())


def equal_mass(confidence, right, count, sure):
    """Samples of one confidence share their accuracy. Bins with their ends, and how many
    samples around cuts may be equal or not."""
    order = np.argsort(confidence, kind="stable")
    c = confidence[order]
    r = np.full(len(c), math.nan) if right is None else right[order].astype(float)
    cluster = np.concatenate([[0], np.cumsum(np.diff(c) > 1e-12 * c[1:])])
    size = np.bincount(cluster)
    shared = (np.bincount(cluster, r) / size)[cluster]
    bins, doubt, start = [], 0, 0
    for part in np.array_split(np.arange(len(c)), count):
        n = len(part)
        bins.append((n, c[part].mean() if n else math.nan, shared[part].mean() if n else math.nan,
                     c[part[0]] if n else math.nan, c[part[-1]] if n else math.nan))
        if right is not None and start and n and cluster[start - 1] == cluster[start]:
            there = cluster == cluster[start]
            settled = sure[order][there].all() and len(set(c[there])) == 1
            mixed = 0 < r[there].sum() < there.sum()
            doubt += 0 if settled or not mixed else int(there.sum())
        start += n
    return bins, doubt


# ---- Temperatures ----


def root(slope, low, high):
    """Where slope(x) -> (value, derivative) crosses 0, rising or falling; x > 0. Newton's
    method in log x, kept within a bracket that bisection shrinks."""
    at_low = slope(low)[0]
    x = math.sqrt(low * high)
    for _ in range(200):
        value, derivative = slope(x)
        if value == 0:
            return x
        if (value > 0) == (at_low > 0):
            low = x
        else:
            high = x
        step = -value / (derivative * x) if derivative else math.inf
        new = x * math.exp(step) if abs(step) < 1 else math.nan
        if not low < new < high:
            new = math.sqrt(low * high)
        if abs(new - x) <= 4e-16 * x or not low < new < high:
            return new
        x = new
    return x


def tempered(z, b):
    """p of softmax(b z), and z relative to its largest."""
    d = z - z.max(axis=1, keepdims=True)
    e = np.exp(b * d)
    return e / e.sum(axis=1, keepdims=True), d


def fitted_temperature(z, labels):
    """The T of the least NLL; (T, at a limit). NLL is convex in b = 1/T with the derivative
    mean(E[z] - z_l) and the second derivative mean(Var[z])."""
    rows = np.arange(len(z))

    def slope(b):
        p, d = tempered(z, b)
        mean = (p * d).sum(axis=1)
        variance = (p * d * d).sum(axis=1) - mean ** 2
        return (mean - d[rows, labels]).mean(), variance.mean()

    if np.ptp(z, axis=1).max() == 0:  # the same at every T: left as it is
        return 1.0, False
    if slope(1 / COLDEST)[0] <= 0:
        return COLDEST, True
    if slope(1 / HOTTEST)[0] >= 0:
        return HOTTEST, True
    return 1 / root(slope, 1 / HOTTEST, 1 / COLDEST), False


def balanced_temperature(z, target):
    """The T at which the mean confidence is target; (T, at a limit)."""

    def slope(b):
        p, d = tempered(z, b)
        top = p.max(axis=1)
        return top.mean() - target, (-top * (p * d).sum(axis=1)).mean()

    if slope(1 / COLDEST)[0] < 0:
        return COLDEST, True
    if slope(1 / HOTTEST)[0] > 0:
        return HOTTEST, True
    return 1 / root(slope, 1 / HOTTEST, 1 / COLDEST), False


# ---- Statistics ----


def mcnemar(b, c):
    n, least = b + c, min(b, c)
    out = {"b": b, "c": c, "p": 1.0, "mid_p": 1.0, "chi_squared": 0.0}
    if n == 0:
        return out
    term = tail = 1
    for k in range(1, least + 1):
        term = term * (n - k + 1) // k
        tail += term
    p = min(Fraction(1), Fraction(2 * tail, 2 ** n))
    out["p"] = near(float(p), 1e-9, 1e-300)
    if b != c:
        out["mid_p"] = near(float(Fraction(2 * tail - term, 2 ** n)), 1e-9, 1e-300)
        out["chi_squared"] = near((abs(b - c) - 1) ** 2 / n)
    return out


def phi(first, second):
    """Correlation of two models' errors."""
    x, y = first.astype(float), second.astype(float)
    if x.std() == 0 or y.std() == 0:
        return None
    return near(((x - x.mean()) * (y - y.mean())).mean() / (x.std() * y.std()))


def student(t, df):
    """P(T <= t) for a whole number of degrees of freedom: the finite sums."""
    angle = math.atan(t / math.sqrt(df))
    cosine, sine = math.cos(angle), math.sin(angle)
    term, total = 1.0, 1.0
    if df % 2:
        if df == 1:
            return 0.5 + angle / math.pi
        term = total = cosine
        for k in range(3, df - 1, 2):
            term *= (k - 1) / k * cosine ** 2
            total += term
        return 0.5 + (angle + sine * total) / math.pi
    for k in range(2, df - 1, 2):
        term *= (k - 1) / k * cosine ** 2
        total += term
    return 0.5 + sine * total / 2


def student_quantile(p, df):
    low, high = -1e9, 1e9
    for _ in range(300):
        middle = (low + high) / 2
        low, high = (middle, high) if student(middle, df) < p else (low, middle)
    return (low + high) / 2


# ---- The groups, and what is computed from counts ----


def group_numbers(right, weights=None):
    """Of the three columns pre, fine, avg in `right` (n, 3): quantities of the groups.
    weights (n): how often each row counts."""
    w = np.ones(len(right)) if weights is None else weights
    n = w.sum()
    p, f, a = (right[:, i] for i in range(3))

    def count(inside):
        return (w * inside).sum(axis=-1)

    def contribution(inside):
        return (count(inside & a) - max(count(inside & p), count(inside & f))) / n

    everything = np.ones(len(right), bool)
    return {"false_false_true": count(~p & ~f & a) / n, "true_true_false": count(p & f & ~a) / n,
            "corrected_ratio": count(p & ~f & a) / n, "tt_ff": contribution(p == f),
            "tf_ft": contribution(p != f), "all": contribution(everything)}


def resamples(patterns, rows, random, count):
    """Draws rows with replacement, `count` times: how often each pattern came, (count,
    patterns)."""
    n, kinds = len(rows), len(patterns)
    out = np.empty((count, kinds))
    step = max(1, 4000000 // n)
    for first in range(0, count, step):
        here = min(step, count - first)
        drawn = rows[random.integers(0, n, (here, n))] + kinds * np.arange(here)[:, None]
        out[first:first + here] = np.bincount(drawn.ravel(), minlength=here * kinds).reshape(
            here, kinds)
    return out


def replicate_values(roles, random):
    """Quantities of every resample of one set: {name: (RESAMPLES)}."""
    names = list(roles)
    right = np.stack([roles[r].right for r in names], axis=1)
    patterns, rows = np.unique(right, axis=0, return_inverse=True)
    counts = resamples(patterns, rows.ravel(), random, RESAMPLES)
    n = counts.sum(axis=1)
    out = {("accuracy", r): counts @ patterns[:, i] / n for i, r in enumerate(names)}
    for first, second in DIFFERENCES:
        if first in roles and second in roles:
            out["difference", first, second] = out["accuracy", first] - out["accuracy", second]
    p, f, a = (patterns[:, names.index(r)] for r in ("pre", "fine", "avg"))
    for key, inside in (("tt_ff", p == f), ("tf_ft", p != f), ("all", p | ~p)):
        out["contribution", key] = (counts @ (inside & a) - np.maximum(
            counts @ (inside & p), counts @ (inside & f))) / n
    out["false_false_true"] = counts @ (~p & ~f & a) / n
    out["true_true_false"] = counts @ (p & f & ~a) / n
    out["corrected_ratio"] = counts @ (p & ~f & a) / n
    return out


def interval(values, case, n):
    """[low, high] and the standard error, as near as two bootstraps of this size are: a
    quantile q of a normal has the error sqrt(q (1 - q)/B)/density, the standard deviation
    1/sqrt(2 B) of itself. Six times that, and steps of 1/n as values are counts."""
    level, theirs = case.get("level", 0.95), case.get("bootstrap", 10000)
    if not theirs:
        return None, None
    q = (1 - level) / 2
    low, high = np.quantile(values, [q, 1 - q])
    sd = values.std()
    error = math.sqrt(1 / RESAMPLES + 1 / theirs)
    density = NormalDist().pdf(NormalDist().inv_cdf(q))
    room = 6 * error * math.sqrt(q * (1 - q)) / density * sd + 1.5 / n
    return ([Near(low, 0, room), Near(high, 0, room)],
            Near(sd, 6 * error / math.sqrt(2) + 1e-9, 0.3 / n if n < 30 else 1e-12))


def alpha_replicates(data, random):
    """Accuracies of the averages at all alphas in every resample, (RESAMPLES, alphas)."""
    right = np.stack([m.right for _, m in data.wse], axis=1)
    patterns, rows = np.unique(right, axis=0, return_inverse=True)
    return resamples(patterns, rows.ravel(), random, RESAMPLES) @ patterns / data.n
