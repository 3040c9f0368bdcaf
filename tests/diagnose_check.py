#!/usr/bin/env python3
"""Runs `bang diagnose` on made data and compares all of its JSON with what
diagnose_reference.py computes from the same files:

    diagnose_check.py itself             the reference itself, against plain loops
    diagnose_check.py compare [NAME...]  one line for each case; all of them by default;
                                         "seed N" is one of random sets and options
    diagnose_check.py random FIRST LAST  those of seeds, and a line in all if they agree
    diagnose_check.py table              the numbers of --csv are those of --json
    diagnose_check.py invariants         what must hold whatever the numbers are

Works in the current folder, with the bang that stands first on PATH. A case says how often
it disagrees and where (the first few). Exit status 1 if one does."""
import csv
import json
import math
import subprocess
import sys

import numpy as np

import diagnose_measures as measures
import diagnose_reference as reference
from diagnose_cases import (
    CASES, averages_at, made, models, probabilities_of, random_case, write_set)

# ---- The command ----


def arguments(options):
    """The command line of a case."""
    out = []
    sets = options.get("sets", [])
    several = len(sets) > 1
    for key, option in (("classes", "--classes"),):
        if options.get(key):
            out += [option, options[key]]
    for data in sets:
        out += ["--set", data["name"]] if several else []
        if not several and data["name"] != "data":
            out += ["--name", data["name"]]
        for key in ("labels", "pre", "fine", "avg", "classes"):
            if data.get(key):
                out += ["--" + key, data[key]]
        if data.get("pattern"):
            out += ["--at", data["pattern"]]
        else:
            for alpha, path in data.get("at", {}).items():
                out += ["--at", f"{alpha}={path}"]
    for key in ("id", "bins", "level", "bootstrap", "list", "curve", "seed", "threads", "csv"):
        if key in options:
            out += ["--" + key, str(options[key])]
    for key, option in (("fit", "--fit-temperature"), ("label_numbers", "--label-numbers"),
                        ("class_names", "--class-names")):
        if key in options:
            out += [option, options[key]]
    for key in ("weights", "temperature", "alphas"):
        if key in options:
            out += ["--" + key, ",".join(str(v) for v in options[key])]
    for name in options.get("highlight", []):
        out += ["--highlight", name]
    for key, option in (("probabilities", "--probabilities"), ("by_class", "--by-class")):
        if options.get(key):
            out += [option]
    return out


def refuse_constant(word):
    raise ValueError(f"{word} is no JSON")


def bang(options):
    """The JSON of the command, as text; None when it fails."""
    line = ["bang", "diagnose", "--json", "--quiet", *arguments(options)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        print("  " + " ".join(line))
        print(f"  exit {done.returncode}: {done.stderr.strip()[:400]}")
        return None
    return done.stdout


def read(text):
    return json.loads(text, parse_constant=refuse_constant)


def report(name, lines):
    if not lines:
        print(f"{name}: as the reference says")
        return True
    print(f"{name}: {len(lines)} values are not as the reference says")
    for line in lines[:SHOWN]:
        print("  " + line)
    return False


SHOWN = 12


def compare(names, verbose=False):
    good = True
    for name in names or CASES:
        seed = name.partition("seed ")[2]
        options = random_case(int(seed)) if seed else CASES[name]()
        text = bang(options)
        if text is None:
            good = report(name, ["it failed"])
            continue
        found = read(text)
        expected = reference.diagnosis(options, found)
        good &= report(name, reference.differences(expected, found))
        if verbose:
            print(f"  {reference.leaves(expected)} values, {reference.unsettled(expected)} open")
    return good


def compare_random(seeds):
    wrong = 0
    for seed in seeds:
        options = random_case(seed)
        text = bang(options)
        lines = ["it failed"]
        if text is not None:
            found = read(text)
            lines = reference.differences(reference.diagnosis(options, found), found)
        if lines:
            wrong += 1
            report(f"seed {seed}", lines)
    if wrong:
        print(f"{wrong} of {len(seeds)} random cases are not as the reference says")
    else:
        print(f"{len(seeds)} random cases: as the reference says")
    return wrong == 0


# ---- The table ----


def pair_of(items, word):
    return next(d for d in items if f"{d['first']}-{d['second']}" == word)


def in_json(found, row):
    """What the JSON says where the table has this row: value, low, high."""
    where, what, model, group = (row[key] for key in ("set", "quantity", "model", "group"))
    if where == "curve":
        return in_curve(found["curve"], what, model, group)
    if what == "temperature":
        return found["sets"][0]["temperature"][model], None, None
    if what.startswith("rule_"):
        rule = next(r for r in found["alpha"]["rules"] if r["rule"] == group)
        ends = {"rule_accuracy_ood": ("low", "high"), "rule_cost": ("cost_low", "cost_high")}
        return [rule[what[5:]]] + [rule[end] for end in ends.get(what, ())]
    s = found["average_ood"] if where == "average OOD" else next(
        s for s in found["sets"] if s["name"] == where)
    ends = s.get("intervals") or {}
    if what in ("difference", "mcnemar_p", "mcnemar_mid_p"):
        d = pair_of(s["differences"], model)
        if what == "difference":
            return d["value"], d["low"], d["high"]
        return d["mcnemar"][what[8:]], None, None
    if what.startswith("alpha_"):
        key = what[6:]
        d = next(d for d in s[model + "s"] if d["alpha"] == float(group))
        if key == "minus_ose":
            return d[key]["value"], d[key]["low"], d[key]["high"]
        if key == "mcnemar_p":
            return d["minus_ose"]["p"], None, None
        return (d[key], d["low"], d["high"]) if key == "accuracy" else (d[key], None, None)
    if what.startswith("bin_"):
        kind, key = what[4:].rsplit("_", 1)
        return s["reliability"][model][kind][int(group)][key], None, None
    if what.startswith("balance_"):
        return s["balance"][what[8:]], None, None
    if what in ("agreement", "both_wrong", "same_mistake", "error_correlation"):
        return pair_of(s["diversity"], model)[what], None, None
    value = s[what]
    interval = ends.get(what, [None, None])
    if what == "improvement":
        interval = ends["improve_contribution"]["all"] if ends else interval
    for key in (model, group):
        if key:
            value = value[key]
            interval = interval[key] if isinstance(interval, dict) else [None, None]
    return value, *interval


def in_curve(curve, what, model, group):
    if what == "coefficient":
        return curve["coefficients"][int(group[1])], None, None
    if what == "band":
        i = curve["band"]["fine"].index(float(group))
        return [curve["band"][key][i] for key in ("avg", "low", "high")]
    if what in ("r_squared", "residual_sd"):
        return curve[what], None, None
    point = next(p for p in curve["points"] + curve["highlight"] if p["name"] == group)
    if what == "accuracy":
        return point[model], None, None
    key = {"residual_p": "p"}.get(what, what)
    if what == "predicted":
        return point[key], point["low"], point["high"]
    return point[key], None, None


def check_table(names=("averages at alphas", "five sets", "without labels", "a curve",
                       "a curve from files beside a set")):
    lines = []
    for name in names:
        options = {**CASES[name](), "csv": "table.csv"}
        if "sets" in options:
            options["alphas"] = ["0.25"]
        found = read(bang(options))
        with open("table.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        seen = set()
        for row in rows:
            key = tuple(row[k] for k in ("set", "quantity", "model", "group"))
            if key in seen:
                lines.append(f"{name}: {key} is there twice")
            seen.add(key)
            texts = [row["value"], row["low"], row["high"]]
            # the JSON has no interval of rule_accuracy_id
            for text, value in zip(texts, in_json(found, row)):
                if (text == "") != (value is None) or text and float(text) != value:
                    lines.append(f"{name}: {key} has {text}, the JSON {value}")
        if not rows:
            lines.append(f"{name}: no rows")
    print("\n".join(lines[:SHOWN]) if lines else "every number of the tables is that of the JSON")
    return not lines


# ---- The reference, against loops ----


def row_softmax(row):
    top = max(row)
    e = [math.exp(v - top) for v in row]
    return [v / math.fsum(e) for v in e]


def by_loops(y, rows):
    """Some of a model's quantities, row by row; rows are probabilities."""
    n, bins = len(y), {}
    out = {"accuracy": 0, "confidence": 0.0, "nll": 0.0, "brier": 0.0}
    for label, p in zip(y, rows):
        best = 0
        for k, v in enumerate(p):
            if v > p[best]:
                best = k
        out["accuracy"] += best == label
        out["confidence"] += p[best]
        out["nll"] -= math.log(p[label])
        out["brier"] += math.fsum((v - (k == label)) ** 2 for k, v in enumerate(p))
        b = min(max(math.ceil(15 * p[best]) - 1, 0), 14)
        count, sure, hits = bins.get(b, (0, 0.0, 0))
        bins[b] = (count + 1, sure + p[best], hits + (best == label))
    out = {key: v / n for key, v in out.items()}
    out["ece"] = math.fsum(abs(hits - sure) for _, sure, hits in bins.values()) / n
    out["mce"] = max(abs(hits - sure) / count for count, sure, hits in bins.values())
    return out


def golden(f, low, high):
    """The place of the least f, to some 1e-6: a flat bottom hides the rest."""
    ratio = (math.sqrt(5) - 1) / 2
    while high - low > 1e-7:
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if f(a) < f(b) else (a, high)
    return (low + high) / 2


def student_by_steps(t, df, steps=2000):
    """1/2 and the integral of the density from 0 to t, by Simpson's rule."""
    def density(x):
        return math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(
            df * math.pi) * (1 + x * x / df) ** (-(df + 1) / 2)
    h = t / steps
    return 0.5 + h / 3 * math.fsum((1 if i in (0, steps) else 4 if i % 2 else 2) * density(i * h)
                                   for i in range(steps + 1))


def self_check():
    lines = []

    def same(what, a, b, room=1e-11):
        if not abs(a - b) <= room * max(1, abs(b)):
            lines.append(f"{what}: {a} and by loops {b}")

    rng = np.random.default_rng(7)
    for n, k in ((40, 3), (25, 6), (70, 2)):
        options = {"sets": [made(int(rng.integers(1 << 30)), n, k, dtype="<f8")]}
        found = reference.diagnosis(options, {})["sets"][0]
        y = [int(v) for v in np.load("data-y.npy")]
        z = {r: np.load(f"data-{r}.npy").tolist() for r in ("pre", "fine", "avg")}
        z["ose"] = [[(a + b) / 2 for a, b in zip(*pair)] for pair in zip(z["pre"], z["fine"])]
        t = {r: found["temperature"][r].value for r in ("pre", "fine")}
        p = {r: [row_softmax(row) for row in rows] for r, rows in z.items()}
        p["ose_probabilities"] = [[(a + b) / 2 for a, b in zip(*pair)]
                                  for pair in zip(p["pre"], p["fine"])]
        p["calibrated_ose"] = [row_softmax([(a / t["pre"] + b / t["fine"]) / 2
                                            for a, b in zip(*pair)])
                               for pair in zip(z["pre"], z["fine"])]
        for role, rows in p.items():
            for key, value in by_loops(y, rows).items():
                there = found[key][role]
                same(f"{role} {key}", getattr(there, "value", there), value)
        groups, wins = {}, {}
        for i, label in enumerate(y):
            word = "".join("T" if z[r][i].index(max(z[r][i])) == label else "F"
                           for r in ("pre", "fine", "avg"))
            groups[word] = groups.get(word, 0) + 1
            margin = p["fine"][i][label] - max(v for c, v in enumerate(p["fine"][i]) if c != label)
            wins.setdefault(word[:2], []).append(margin)
        for word in measures.GROUPS:
            same(word, found["groups"][word], groups.get(word, 0))
        for pair, values in wins.items():
            same(f"margin {pair}", found["margin"]["fine"][pair].value,
                 math.fsum(values) / len(values))
        for r in ("pre", "fine"):
            def nll(x, r=r):
                return -math.fsum(math.log(row_softmax([v * math.exp(-x) for v in row])[label])
                                  for row, label in zip(z[r], y)) / n
            least = nll(golden(nll, math.log(1e-3), math.log(1e3)))
            if nll(math.log(t[r])) > least + 1e-14:
                lines.append(f"temperature {r}: {t[r]} is not where the NLL is least")
        tau = found["balance"]["temperature"].value
        mean = math.fsum(max(row_softmax([v / tau for v in row])) for row in z["fine"]) / n
        same("balance", mean, found["confidence"]["pre"].value)
    # the paper's numbers, from counts alone
    right = np.zeros((1000, 3), bool)
    for column, count in enumerate((120, 118, 130)):
        right[:count, column] = True
    same("ImproveContri", measures.group_numbers(right)["all"], 0.01, 1e-15)
    for t, df in ((0.3, 1), (-2.5, 2), (1.7, 3), (1.1, 10), (-0.4, 37)):
        same(f"Student's t {df}", measures.student(t, df), student_by_steps(t, df), 1e-10)
        same(f"Student's t {df}", measures.student_quantile(measures.student(t, df), df), t)
    same("McNemar", measures.mcnemar(2, 9)["p"].value, 2 * (1 + 11 + 55) / 2 ** 11)
    # rows that are drawn: the standard error of a share
    rows = np.array([0] * 30 + [1] * 70)
    drawn = measures.resamples([0, 1], rows, np.random.default_rng(3), 20000)[:, 1] / 100
    same("bootstrap", drawn.std(), math.sqrt(0.3 * 0.7 / 100), 1e-3)
    mass, _ = measures.equal_mass(np.array([0.5, 0.6, 0.6, 0.9]), np.array([1, 0, 1, 1]) > 0, 2,
                                   np.ones(4, bool))
    same("equal mass", mass[0][2], 0.75)
    same("equal mass", mass[1][2], 0.75)
    print("\n".join(lines) if lines else "the reference agrees with plain loops")
    return not lines


# ---- Invariants ----


def variants(y, z, rng):
    """Data that should give the same: (what, set, exactly or nearly)."""
    n, k = z["pre"].shape
    order, classes = rng.permutation(n), rng.permutation(k)
    shift = rng.integers(-50, 50, (n, 1)).astype(float)
    f64 = {r: v.astype("<f4").astype("<f8") for r, v in z.items()}
    yield "as f64", write_set("other", y, f64, "<f8"), True
    yield "big-endian", write_set("other", y, z, ">f4", ">i2"), True
    yield "in Fortran order", write_set("other", y, z, "<f4", "u1", True), True
    yield "rows in another order", write_set("other", y[order], {r: v[order]
                                                                 for r, v in z.items()}), False
    yield "classes in another order", write_set(
        "other", np.argsort(classes)[y], {r: v[:, classes] for r, v in z.items()}), False
    yield "a number added to every row", write_set(
        "other", y, {r: v + shift for r, v in f64.items()}, "<f8"), False
    subset_of_all = write_set("other", y, z)
    subset_of_all["classes"] = f"0-{k - 1}"
    yield "all classes as a subset", subset_of_all, True
    more = {r: np.concatenate([v, rng.uniform(5, 9, (n, 3))], axis=1) for r, v in z.items()}
    picked = write_set("other", y, more)
    picked["classes"] = f"0-{k - 1}"
    yield "a subset without louder outputs", picked, False


def loosely(tree, names=()):
    """A JSON as an expectation with room for rounding."""
    if isinstance(tree, dict):
        return {key: loosely(v, names) for key, v in tree.items() if key not in names}
    if isinstance(tree, list):
        return [loosely(v, names) for v in tree]
    if isinstance(tree, float):
        return measures.Near(tree, 1e-9, 1e-8)
    return tree


SKIPPED = ("outputs", "conclusions")  # a word may hang on a last digit


def check_identities(found):
    lines = []

    def holds(good, what):
        if not good:
            lines.append(what)

    for s in found["sets"]:
        g, n, c = s["groups"], s["n"], s["improve_contribution"]
        holds(sum(g.values()) == n, "groups sum to n")
        holds(abs(c["tt_ff"] - (g["FFT"] - g["TTF"]) / n) < 1e-15, "TT+FF is (FFT - TTF)/n")
        holds(abs(c["tt_ff"] + c["tf_ft"] - c["all"]) < 1e-15, "the contributions sum to all")
        holds(s["false_false_true"] == g["FFT"] / n, "FFT/n")
        holds(s["corrected_ratio"] == g["TFT"] / n, "TFT/n")
        for role, letter in (("pre", 0), ("fine", 1), ("avg", 2)):
            right = sum(count for word, count in g.items() if word[letter] == "T")
            holds(s["accuracy"][role] == right / n, f"accuracy of {role} from the groups")
        for role in ("pre", "fine"):
            holds(s["accuracy"][role] == s["accuracy"][role + "_calibrated"],
                  f"temperature leaves the accuracy of {role}")
            holds(s["nll"][role + "_calibrated"] <= s["nll"][role] + 1e-12,
                  f"temperature lowers the NLL of {role}")
        for role, curves in s["reliability"].items():
            for kind, bins in curves.items():
                holds(bins is None or sum(b["count"] for b in bins) == n,
                      f"{kind} bins of {role} sum to n")
        for role in s["ece"]:
            holds(s["ece"][role] <= s["rms"][role] + 1e-12 <= s["mce"][role] + 2e-12,
                  f"ECE <= RMS <= MCE of {role}")
            holds(0 <= s["brier"][role] <= 2, f"Brier of {role}")
            holds(abs(s["gap"][role]) <= s["ece"][role] + 1e-12,
                  f"ECE of {role} is at least the gap")
            low, high = s["intervals"]["accuracy"][role]
            holds(low <= s["accuracy"][role] <= high, f"the interval of {role} holds its accuracy")
        for d in s["differences"]:
            b, c = d["mcnemar"]["b"], d["mcnemar"]["c"]
            holds(abs(d["value"] - (b - c) / n) < 1e-15, "a difference is (b - c)/n")
            p = d["mcnemar"]["p"]
            holds(0 <= d["mcnemar"]["mid_p"] <= p <= 1, "mid-p <= p")
            holds(d["real"] == ((d["low"] > 0 or d["high"] < 0) and p <= 0.05),
                  "a difference is real if the interval and McNemar's test say so")
    return lines


def swapped(found):
    """What FM and PM exchanged means for a set."""
    def pairs(tree):
        return {{"pre": "fine", "fine": "pre"}.get(key, key): v for key, v in tree.items()}

    def words(tree):
        return {word[1] + word[0] + word[2:]: v for word, v in tree.items()}

    s = found["sets"][0]
    return {"accuracy": {k: v for k, v in pairs(s["accuracy"]).items() if "_cal" not in k},
            "ece": {k: v for k, v in pairs(s["ece"]).items() if "_cal" not in k},
            "groups": words(s["groups"]), "improve_contribution": s["improve_contribution"],
            "margin": {k: words(v) for k, v in pairs(s["margin"]).items()},
            "temperature": pairs(s["temperature"])}


def check_pieces():
    """Large enough for many pieces: the same bytes on any number of threads, and the same
    numbers from any kind of file."""
    lines = []
    y, z = models(np.random.default_rng(12), 30000, 20)
    z = {r: v.astype("<f4") for r, v in z.items()}
    data = write_set("data", y, z)
    averages_at(data, 13, ("0.3", "0.8"), k=20)
    options = {"bootstrap": 500, "alphas": ["0.4"], "list": "FFT"}
    text = bang({"sets": [data], **options})
    for threads in (1, 2, 3, 7):
        if bang({"sets": [data], "threads": threads, **options}) != text:
            lines.append(f"30000 rows, {threads} threads: not the same bytes")
    for what, kind in (("f64", {"dtype": "<f8"}), ("big-endian", {"dtype": ">f4"}),
                       ("Fortran order", {"fortran": True}),
                       ("big-endian f64 in Fortran order", {"dtype": ">f8", "fortran": True})):
        other = write_set("data", y, z, **kind)
        if bang({"sets": [{**other, "at": data["at"]}], **options}) != text:
            lines.append(f"30000 rows, {what}: not the same numbers")
    return lines


def invariants(count=6):
    rng = np.random.default_rng(11)
    good, lines = True, check_pieces()

    def agree(what, expected, found):
        lines.extend(f"{what}: {line}" for line in reference.differences(expected, found)[:3])

    for turn in range(count):
        n, k = int(rng.integers(20, 600)), int(rng.integers(2, 40))
        y, z = models(rng, n, k, skill=tuple(rng.uniform(0.5, 4, 2)),
                      sharp=tuple(rng.uniform(0.3, 4, 2)))
        data = write_set("data", y, z)
        settings = {"bootstrap": 2000, "seed": turn}
        text = bang({"sets": [data], **settings})
        if text is None:
            return False
        found = read(text)
        lines += check_identities(found)
        if found["sets"][0] != {key: found[key] for key in found["sets"][0]}:
            lines.append("one set: its keys stand at the top")
        for threads in (1, 2, 3):
            again = bang({"sets": [data], "threads": threads, **settings})
            if again != text:
                lines.append(f"{threads} threads: not the same bytes")
        for what, other, exactly in variants(y, z, rng):
            again = bang({"sets": [{**other, "name": "data"}], **settings})
            if exactly and again != text:
                lines.append(f"{what}: not the same bytes")
            agree(what, loosely(found, SKIPPED), read(again or "{}"))
        exchanged = {**data, "pre": data["fine"], "fine": data["pre"]}
        agree("models exchanged", loosely(swapped(found)),
              read(bang({"sets": [exchanged], **settings}) or "{}"))
        scaled = write_set("other", y, {**z, "fine": z["fine"].astype("<f4") * 4.0})
        there = read(bang({"sets": [scaled], **settings}) or "{}")
        agree("logits times 4", {
            "temperature": {"pre": measures.Near(found["temperature"]["pre"]),
                            "fine": measures.Near(4 * found["temperature"]["fine"])},
            "balance": {"temperature": measures.Near(4 * found["balance"]["temperature"])},
            "groups": found["groups"], "calibrated_ose": found["calibrated_ose"]}, there)
        p = write_set("other", *probabilities_of(y, {r: v.astype("<f4").astype(float)
                                                      for r, v in z.items()}), dtype="<f8")
        agree("as probabilities", loosely(found, SKIPPED), read(bang(
            {"sets": [{**p, "name": "data"}], "probabilities": True, **settings}) or "{}"))
        if bang({"sets": [data], **settings, "seed": 1000 + turn}) == text:
            lines.append("another seed: the same intervals")
    if lines:
        good = False
    print("\n".join(lines[:3 * SHOWN]) if lines else
          f"{count} data sets: every invariant holds")
    return good


def main(words):
    what, names = (words[1], words[2:]) if len(words) > 1 else ("", [])
    if what == "itself":
        return self_check()
    if what == "compare":
        verbose = "-v" in names
        return compare([name for name in names if name != "-v"], verbose)
    if what == "random":
        seeds = range(int(names[0]), int(names[1]) + 1)
        return compare_random(seeds)
    if what == "table":
        return check_table()
    if what == "invariants":
        return invariants()
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv) else 1)
