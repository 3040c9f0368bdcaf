#!/usr/bin/env python3
"""Runs `bang diagnose` on made data and compares all of its JSON with what
diagnose_reference.py computes from the same files:

    diagnose_cases.py check              the reference itself, against plain loops
    diagnose_cases.py compare [NAME...]  one line for each case; all of them by default;
                                         "seed N" is one of random sets and options
    diagnose_cases.py random FIRST LAST  those of seeds, and a line in all if they agree
    diagnose_cases.py table              the numbers of --csv are those of --json
    diagnose_cases.py invariants         what must hold whatever the numbers are

Works in the current folder, with the bang that stands first on PATH. A case says how often
it disagrees and where (the first few). Exit status 1 if one does."""
import csv
import itertools
import json
import math
import subprocess
import sys

import numpy as np

import diagnose_reference as reference

# ---- Data ----


def models(rng, n, k, skill=(1.5, 2.5), sharp=(1.0, 3.0)):
    """Labels and the logits of a pre-trained, a fine-tuned and an averaged model: they share
    some of their noise, and the fine-tuned one is surer of itself."""
    y = rng.integers(0, k, n)
    hit = np.eye(k)[y]
    shared = rng.standard_normal((n, k))
    pre = sharp[0] * (skill[0] * hit + 0.6 * shared + rng.standard_normal((n, k)))
    fine = sharp[1] * (skill[1] * hit + 0.6 * shared + rng.standard_normal((n, k)))
    avg = 0.5 * (pre + fine) + 0.5 * hit + 0.4 * rng.standard_normal((n, k))
    return y, {"pre": pre, "fine": fine, "avg": avg}


def save(name, array, dtype, fortran=False):
    array = np.asarray(array).astype(dtype)
    np.save(name, np.asfortranarray(array) if fortran else np.ascontiguousarray(array))
    return name


def write_set(name, y, z, dtype="<f4", label_dtype="<i8", fortran=False, **more):
    """Files NAME-pre.npy and so on; the set of a case."""
    out = {"name": name, **more}
    if y is not None:
        out["labels"] = save(f"{name}-y.npy", y, label_dtype)
    for role, numbers in z.items():
        out[role] = save(f"{name}-{role}.npy", numbers, dtype, fortran)
    return out


def made(seed, n, k, name="data", keep=("pre", "fine", "avg"), labelled=True, change=None,
         skill=(1.5, 2.5), sharp=(1.0, 3.0), **more):
    y, z = models(np.random.default_rng(seed), n, k, skill, sharp)
    if change:
        y, z = change(y, z)
    return write_set(name, y if labelled else None, {role: z[role] for role in keep}, **more)


def rounded(step):
    return lambda y, z: (y, {role: np.round(v / step) * step for role, v in z.items()})


def times(factor):
    return lambda y, z: (y, {role: factor * v for role, v in z.items()})


def answers(y, k, right, miss, height=4.0):
    """Logits that are right where `right` says, else say y + miss."""
    z = np.zeros((len(y), k))
    z[np.arange(len(y)), np.where(right, y, (y + miss) % k)] = height
    return z


def probabilities_of(y, z):
    out = {}
    for role, v in z.items():
        e = np.exp(v - v.max(axis=1, keepdims=True))
        out[role] = e / e.sum(axis=1, keepdims=True)
    return y, out


# ---- Cases ----

CASES = {}


def case(function):
    CASES[function.__name__.replace("_", " ")] = function
    return function


def one(seed, n, k, *, options=None, **more):
    return {"sets": [made(seed, n, k, **more)], **(options or {})}


@case
def the_papers_example():
    """120, 118 and 130 right of 1000: ImproveContri is 1 %."""
    y, i = np.arange(1000) % 10, np.arange(1000)
    right = {"pre": i < 120, "fine": (i >= 50) & (i < 168), "avg": (i >= 30) & (i < 160)}
    return {"sets": [write_set("data", y, {r: answers(y, 10, v, 1 + m) for m, (r, v) in
                                           enumerate(right.items())})]}


@case
def ten_classes():
    return one(1, 2000, 10)


@case
def two_classes_f64_u1():
    return one(2, 700, 2, dtype="<f8", label_dtype="u1")


@case
def two_hundred_classes_f16_i2():
    return one(3, 400, 200, dtype="<f2", label_dtype="<i2", skill=(3.0, 4.0))


@case
def big_endian_f4_i4():
    return one(4, 900, 7, dtype=">f4", label_dtype=">i4")


@case
def big_endian_f8_u2():
    return one(5, 300, 7, dtype=">f8", label_dtype=">u2")


@case
def big_endian_f2_in_Fortran_order():
    return one(6, 300, 9, dtype=">f2", label_dtype="i1", fortran=True)


@case
def Fortran_order_f8_u8():
    return one(7, 1200, 6, dtype="<f8", label_dtype="<u8", fortran=True)


@case
def Fortran_order_f4_u4():
    return one(8, 5000, 12, label_dtype="<u4", fortran=True)


@case
def one_row():
    return one(9, 1, 3)


@case
def two_rows():
    return one(10, 2, 4, dtype="<f8")


@case
def fewer_rows_than_bins():
    return one(11, 11, 5)


@case
def rows_by_number():
    """Around the sizes at which pieces and vectors end."""
    rng = np.random.default_rng(12)
    sets = []
    for n, k in itertools.product((3, 64, 65, 257), (2, 3, 5, 8, 17)):
        sets.append(made(int(rng.integers(1 << 30)), n, k, name=f"n{n}k{k}"))
    return {"sets": sets, "bootstrap": 1000}


@case
def ties_of_whole_logits():
    return one(13, 3000, 5, change=rounded(1.0))


@case
def ties_of_half_logits_in_three_classes():
    return one(14, 2500, 3, change=rounded(0.5), dtype="<f2")


@case
def ties_everywhere():
    return one(15, 800, 4, change=rounded(4.0), label_dtype="u1")


@case
def huge_logits():
    return one(16, 1500, 10, change=times(1e4))


@case
def huge_logits_that_tie():
    return one(17, 1500, 6, change=lambda y, z: rounded(1e4)(*times(1e4)(y, z)), dtype="<f8")


@case
def tiny_logits():
    return one(18, 1500, 10, change=times(1e-6), dtype="<f8")


@case
def logits_far_from_zero():
    return one(19, 800, 10, change=lambda y, z: (y, {r: v - 5000 for r, v in z.items()}))


@case
def one_class_far_below():
    def change(y, z):
        for v in z.values():
            v[:, 0] = -1e30
        return np.maximum(y, 1), z
    return one(20, 400, 5, change=change)


@case
def some_constant_rows():
    def change(y, z):
        for i, v in enumerate(z.values()):
            v[i::3] = 2.0
        return y, z
    return one(21, 900, 5, change=change)


@case
def a_constant_model():
    return one(22, 600, 3, change=lambda y, z: (y, {**z, "pre": 0 * z["pre"]}))


@case
def a_perfect_model():
    def change(y, z):
        return y, {**z, "fine": answers(y, 6, y >= 0, 1, 9.0) + 0.1 * z["avg"]}
    return one(23, 500, 6, change=change)


@case
def a_model_that_is_always_wrong():
    def change(y, z):
        return y, {**z, "pre": answers(y, 6, y < 0, 1, 5.0) + 0.01 * z["pre"]}
    return one(24, 500, 6, change=change)


@case
def all_models_perfect():
    def change(y, z):
        return y, {r: answers(y, 4, y >= 0, 1, 3.0 + i) for i, r in enumerate(z)}
    return one(25, 300, 4, change=change)


@case
def all_models_always_wrong():
    def change(y, z):
        return y, {r: answers(y, 4, y < 0, 1 + i, 3.0 + i) for i, r in enumerate(z)}
    return one(26, 300, 4, change=change)


@case
def equal_models():
    return one(27, 500, 5, change=lambda y, z: (y, {r: z["pre"] for r in z}))


@case
def one_class_in_the_labels():
    return one(28, 400, 5, change=lambda y, z: (0 * y + 3, z))


@case
def without_an_average():
    return one(29, 1200, 10, keep=("pre", "fine"))


@case
def without_labels():
    return one(30, 800, 10, labelled=False)


@case
def without_labels_and_average():
    return one(31, 800, 3, labelled=False, keep=("pre", "fine"))


@case
def five_sets():
    sets = [made(32 + i, n, 8, name=name, skill=(1.5, 2.8 - 0.5 * i))
            for i, (name, n) in enumerate((("id", 900), ("v2", 500), ("art", 301), ("sketch", 77),
                                           ("objects", 1400)))]
    return {"sets": sets}


@case
def sets_of_many_kinds():
    """Other classes, no labels, no average, other types."""
    return {"sets": [made(40, 600, 10, name="id"),
                     made(41, 400, 4, name="small", keep=("pre", "fine"), dtype=">f8"),
                     made(42, 300, 10, name="blind", labelled=False, dtype="<f2"),
                     made(43, 500, 10, name="far", skill=(1.0, 0.5), sharp=(1.0, 5.0))]}


@case
def the_id_set_is_another():
    sets = [made(44 + i, 400, 6, name=name) for i, name in enumerate(("a", "b", "c"))]
    return {"sets": sets, "id": "b"}


@case
def temperatures_of_another_set():
    sets = [made(47 + i, 500, 6, name=name, sharp=(0.5 + i, 3.0)) for i, name in
            enumerate(("a", "b"))]
    return {"sets": sets, "fit": "b"}


@case
def temperatures_given():
    return one(50, 700, 6, options={"temperature": (1.7, 0.4)})


@case
def no_temperatures():
    return one(51, 700, 6, options={"fit": "none"})


@case
def no_temperatures_without_labels_of_the_id_set():
    return {"sets": [made(52, 300, 5, name="id", labelled=False), made(53, 300, 5, name="ood")]}


@case
def weights():
    return one(54, 900, 6, options={"weights": (0.3, 0.7)})


@case
def weights_of_any_sum():
    return one(55, 900, 6, options={"weights": (2, 6)})


@case
def negative_weights():
    return one(57, 900, 6, options={"weights": (1.5, -0.4)})


@case
def logits_times_1000():
    return one(58, 900, 6, change=times(1000))


@case
def logits_times_1e_4():
    return one(59, 900, 6, change=times(1e-4))


@case
def weights_with_a_zero():
    return one(56, 500, 6, options={"weights": (0, 1)})


@case
def ensembles_at_alphas():
    return one(57, 900, 6, options={"alphas": ["0", "0.25", "0.5", "1"]})


def averages_at(data, seed, alphas, pattern="{name}-at-{alpha}.npy", k=6):
    """Adds logits of averages at alphas to a set."""
    rng = np.random.default_rng(seed)
    pre, fine = (np.load(data[r]).astype(float) for r in ("pre", "fine"))
    data["at"] = {}
    for a in alphas:
        z = (1 - float(a)) * pre + float(a) * fine + 0.6 * rng.standard_normal((len(pre), k))
        data["at"][a] = save(pattern.format(name=data["name"], alpha=a), z, "<f4")
    return data


@case
def averages_at_alphas():
    sets = [made(60, 800, 6, name="id")]
    sets += [made(61 + i, 700, 6, name=name, skill=(2.0, 1.5), sharp=(1.0, 4.0), keep=keep)
             for i, (name, keep) in enumerate((("art", ("pre", "fine")), ("sketch", ("pre", "fine",
                                                                                     "avg"))))]
    sets.append(made(64, 350, 6, name="blind", labelled=False))
    for i, data in enumerate(sets):
        averages_at(data, 70 + i, ("0.1", "0.3", "0.5", "0.7", "0.9"))
    return {"sets": sets}


@case
def averages_at_alphas_on_some_sets():
    sets = [made(80, 400, 6, name="id"), made(81, 400, 6, name="with", skill=(2.0, 1.0)),
            made(82, 300, 6, name="without")]
    averages_at(sets[0], 83, ("0", "0.4", "1"))
    averages_at(sets[1], 84, ("0", "0.4", "1"))
    return {"sets": sets}


@case
def averages_at_alphas_by_a_pattern():
    sets = [made(85, 400, 6, name="id", keep=("pre", "fine")), made(86, 500, 6, name="ood")]
    for i, data in enumerate(sets):
        averages_at(data, 87 + i, (".2", "0.50", "0.8"))
        data["pattern"] = f"{data['name']}-at-{{alpha}}.npy"
    return {"sets": sets, "alphas": [".2", "0.50", "0.8"]}


@case
def lists_of_samples():
    return one(90, 300, 5, options={"list": "FFT,TTF"})


@case
def lists_of_all_samples():
    return one(91, 120, 5, options={"list": "all"}, change=rounded(1.0))


@case
def other_bins_and_levels():
    return one(92, 900, 5, options={"bins": 7, "level": 0.8, "bootstrap": 3000})


@case
def one_bin():
    return one(93, 300, 5, options={"bins": 1})


@case
def a_thousand_bins_and_no_bootstrap():
    return one(94, 800, 5, options={"bins": 1000, "bootstrap": 0})


def as_probabilities(seed, dtype, zeros=False, **more):
    def change(y, z):
        y, p = probabilities_of(y, z)
        if zeros:
            for v in p.values():
                v[v < 0.02] = 0
                v /= v.sum(axis=1, keepdims=True)
        return y, p
    return one(seed, 900, 6, dtype=dtype, change=change, options={"probabilities": True}, **more)


@case
def probabilities_f64():
    return as_probabilities(95, "<f8")


@case
def probabilities_f32():
    return as_probabilities(96, "<f4")


@case
def probabilities_on_the_edges_of_bins():
    """In fifteenths: a last bit decides about the bin."""
    def change(y, z):
        rng = np.random.default_rng(7)
        return y, {role: rng.multinomial(15, e) / 15
                   for role, e in probabilities_of(y, z)[1].items()}
    return one(99, 2000, 6, dtype="<f8", change=change, options={"probabilities": True})


@case
def probabilities_on_edges_f32():
    def change(y, z):
        rng = np.random.default_rng(8)
        return y, {role: rng.multinomial(15, e) / 15
                   for role, e in probabilities_of(y, z)[1].items()}
    return one(100, 2000, 6, dtype="<f4", change=change, options={"probabilities": True})


@case
def probabilities_of_zero():
    return as_probabilities(97, "<f8", zeros=True)


@case
def probabilities_of_a_subset():
    data = as_probabilities(98, "<f8")
    y = np.load("data-y.npy")
    save("data-y.npy", np.minimum(y, 2), "<i8")
    return {**data, "classes": "1,3,5"}


def subset(seed, classes, n=900, k=12, numbers=None, change=None, **options):
    data = made(seed, n, k)
    y = np.load(data["labels"])
    save(data["labels"], change(y) if change else y, "<i8")
    data["classes"] = classes
    if numbers:
        options["label_numbers"] = numbers
    return {"sets": [data], **options}


@case
def a_subset_by_outputs():
    return subset(100, "0,3,5-9")


@case
def a_subset_by_places():
    return subset(101, "2,4,6-8", change=lambda y: y % 5)


@case
def a_subset_where_both_numbers_fit():
    return subset(102, "3,1,0,2", change=lambda y: y % 4)


@case
def a_subset_where_outputs_are_asked_for():
    return subset(103, "3,1,0,2", numbers="outputs", change=lambda y: y % 6)


@case
def a_subset_where_places_are_asked_for():
    return subset(104, "1,0", numbers="places", change=lambda y: y % 2)


@case
def a_subset_of_everything():
    return subset(105, "0-11")


@case
def a_subset_in_a_text_file():
    with open("subset.txt", "w", encoding="utf-8") as file:
        file.write("11\n4, 2 7\n9\n")
    return subset(106, "subset.txt")


@case
def a_subset_by_names():
    names = [f"class {chr(97 + i)}" for i in range(12)]
    with open("names.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(names) + "\n")
    with open("wanted.txt", "w", encoding="utf-8") as file:
        file.write("class d\nclass a\nclass l\n")
    return subset(107, "wanted.txt", class_names="names.txt")


@case
def a_subset_in_an_array():
    save("subset.npy", [10, 3, 5, 8], "<i4")
    return subset(108, "subset.npy")


def write_map(name, outputs):
    with open(name, "w", encoding="utf-8") as file:
        json.dump({"name": "made", "outputs": 12, "images": 0, "border": 0, "classes": [
            {"folder": f"f{i}", "outputs": own} for i, own in enumerate(outputs)]}, file)
    return name


@case
def a_class_map_by_places():
    return subset(109, write_map("map.json", [[3, 4], [0], [11, 7, 2]]), change=lambda y: y % 3)


@case
def a_class_map_by_outputs():
    return subset(110, write_map("map.json", [[3, 4], [0], [11, 7, 2]]))


@case
def a_subset_for_all_sets_and_one_of_its_own():
    sets = [made(111 + i, 400, 12, name=name) for i, name in enumerate(("id", "a", "r"))]
    sets[2]["classes"] = "1-3"
    return {"sets": sets, "classes": "0,2,4-8"}


@case
def a_subset_with_lists_and_alphas():
    data = subset(115, "0,2-5", k=6)
    averages_at(data["sets"][0], 116, ("0.25", "0.75"))
    return {**data, "list": "FFT,TFT", "alphas": ["0.4"]}


def write_curve(name, rows, header="name,fine,avg"):
    with open(name, "w", encoding="utf-8") as file:
        file.write("\n".join([header] + rows) + "\n")
    return name


def parabola(seed, n, scale=1.0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.45, 0.6, n)
    y = 0.2 + 1.2 * x - 0.6 * x * x + 0.004 * rng.standard_normal(n)
    return [f"run {i},{a * scale:.17g},{b * scale:.17g}" for i, (a, b) in enumerate(zip(x, y))]


@case
def a_curve():
    rows = parabola(120, 40) + ["BANG,0.568,0.649", "far,0.9,0.7"]
    return {"curve": write_curve("runs.csv", rows), "highlight": ["BANG", "far"]}


@case
def a_curve_in_per_cent():
    rows = parabola(121, 12, 100) + ["Mixup + LS,56.8,64.9"]
    return {"curve": write_curve("runs.csv", rows), "highlight": ["Mixup + LS"], "level": 0.9}


@case
def a_curve_of_four_points():
    return {"curve": write_curve("runs.csv", parabola(122, 5)), "highlight": ["run 3"]}


@case
def a_curve_of_three_points():
    return {"curve": write_curve("runs.csv", parabola(123, 4)), "highlight": ["run 3"]}


@case
def a_curve_of_averages_over_sets():
    rows = [f"{line.split(',')[0]},{name},{','.join(line.split(',')[1:])}" for i, name in
            enumerate(("art", "sketch")) for line in parabola(124 + i, 9)]
    return {"curve": write_curve("runs.csv", rows, "name,set,fine,avg")}


@case
def a_curve_from_files_beside_a_set():
    rows = []
    for i in range(7):
        data = made(130 + i, 300, 6, name=f"run{i}", skill=(1.5, 1.0 + 0.3 * i),
                    keep=("fine", "avg"))
        rows.append(f"run{i},{data['fine']},{data['avg']},{data['labels']}")
    return {"curve": write_curve("runs.csv", rows, "name,fine,avg,labels"), "highlight": ["run6"],
            "sets": [made(140, 300, 6)]}


@case
def many_rows():
    return one(150, 20000, 40, options={"list": "TTF"})


@case
def half_numbers_at_their_largest():
    def change(y, z):
        return y, {r: np.clip(v * 2e4, -65504, 65504) for r, v in z.items()}
    return one(151, 500, 7, change=change, dtype="<f2")


@case
def probabilities_that_sum_to_one_nearly():
    def change(y, z):
        y, p = probabilities_of(y, z)
        return y, {r: v * np.linspace(0.999, 1.001, len(y))[:, None] for r, v in p.items()}
    return one(152, 500, 7, change=change, options={"probabilities": True})


@case
def a_temperature_of_one():
    return one(153, 400, 5, options={"temperature": (1, 2)})


def random_case(seed):
    """Sets, options and files as they come."""
    rng = np.random.default_rng(seed)

    def pick(*choices):
        return choices[rng.integers(len(choices))]

    options = {"bootstrap": pick(1000, 1000, 0), "seed": int(seed)}
    k = int(pick(2, 3, 5, 10, 31, 100))
    alphas = pick(None, None, ("0.2", "0.5"), ("0.35", "0.6", "0.9"))
    sets = []
    for i in range(pick(1, 1, 2, 3)):
        steps = pick(None, None, 1.0, 0.25)
        change = rounded(steps) if steps else times(pick(1, 1, 0.1, 30))
        keep = pick(("pre", "fine"), ("pre", "fine", "avg"), ("pre", "fine", "avg"))
        data = made(int(rng.integers(1 << 30)), int(rng.integers(1, 700)), k, name=f"set{i}",
                    keep=keep, labelled=bool(pick(1, 1, 1, 0)), change=change,
                    skill=tuple(rng.uniform(0, 4, 2)), sharp=tuple(rng.uniform(0.2, 5, 2)),
                    dtype=pick("<f4", "<f4", "<f8", ">f4", ">f8", "<f2"),
                    label_dtype=pick("<i8", ">i4", "u1", "<u2", "i1", ">u8"),
                    fortran=bool(pick(0, 0, 1)))
        if alphas and pick(0, 1, 1):
            averages_at(data, int(rng.integers(1 << 30)), alphas, k=k)
        if k > 3 and pick(0, 0, 1):
            some = rng.permutation(k)[:rng.integers(2, k)]
            if "labels" not in data or np.isin(np.load(data["labels"]), some).any():
                data["classes"] = ",".join(str(c) for c in some)
                options["label_numbers"] = "outputs"
        sets.append(data)
    options["sets"] = sets
    if pick(0, 1):
        options["id"] = sets[-1]["name"]
    if pick(0, 0, 1):
        options["alphas"] = ["0.15", "0.7"]
    if pick(0, 0, 1):
        options["weights"] = (0.25, 1)
    if pick(0, 0, 1):
        options["bins"] = int(rng.integers(1, 60))
    options["fit"] = pick("none", *(data["name"] for data in sets))
    if options["fit"] != "none" and "labels" not in dict(
            (data["name"], data) for data in sets)[options["fit"]]:
        options["fit"] = "none"
    if pick(0, 0, 1) and options["fit"] == "none":
        options["temperature"] = (0.8, 2.5)
        del options["fit"]
    return options


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
    if options.get("probabilities"):
        out += ["--probabilities"]
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
        for word in reference.GROUPS:
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
    same("ImproveContri", reference.group_numbers(right)["all"], 0.01, 1e-15)
    for t, df in ((0.3, 1), (-2.5, 2), (1.7, 3), (1.1, 10), (-0.4, 37)):
        same(f"Student's t {df}", reference.student(t, df), student_by_steps(t, df), 1e-10)
        same(f"Student's t {df}", reference.student_quantile(reference.student(t, df), df), t)
    same("McNemar", reference.mcnemar(2, 9)["p"].value, 2 * (1 + 11 + 55) / 2 ** 11)
    # rows that are drawn: the standard error of a share
    rows = np.array([0] * 30 + [1] * 70)
    drawn = reference.resamples([0, 1], rows, np.random.default_rng(3), 20000)[:, 1] / 100
    same("bootstrap", drawn.std(), math.sqrt(0.3 * 0.7 / 100), 1e-3)
    mass, _ = reference.equal_mass(np.array([0.5, 0.6, 0.6, 0.9]), np.array([1, 0, 1, 1]) > 0, 2,
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
        return reference.Near(tree, 1e-9, 1e-8)
    return tree


SKIPPED = ("name", "id", "conclusions", "temperature_fitted_on", "outputs", "samples",
           "samples_detail")


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
                holds(bins is None or sum(b["count"] for b in bins) == n, f"{kind} bins of {role} sum to n")
        for role in s["ece"]:
            holds(s["ece"][role] <= s["rms"][role] + 1e-12 <= s["mce"][role] + 2e-12,
                  f"ECE <= RMS <= MCE of {role}")
            holds(0 <= s["brier"][role] <= 2, f"Brier of {role}")
            holds(abs(s["gap"][role]) <= s["ece"][role] + 1e-12, f"ECE of {role} is at least the gap")
            low, high = s["intervals"]["accuracy"][role]
            holds(low <= s["accuracy"][role] <= high, f"the interval of {role} holds its accuracy")
        for d in s["differences"]:
            b, c = d["mcnemar"]["b"], d["mcnemar"]["c"]
            holds(abs(d["value"] - (b - c) / n) < 1e-15, "a difference is (b - c)/n")
            holds(0 <= d["mcnemar"]["mid_p"] <= d["mcnemar"]["p"] <= 1, "mid-p <= p")
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
            there = read(bang({"sets": [other], **settings}) or "{}")
            if exactly:
                for tree in (there, *there.get("sets", [])):
                    tree.update({key: found[key] for key in SKIPPED[:4] if key in tree})
                if there != found:
                    lines.append(f"{what}: not the same numbers")
            agree(what, loosely(found, SKIPPED + (() if exactly else ())), there)
        exchanged = {**data, "pre": data["fine"], "fine": data["pre"]}
        agree("models exchanged", loosely(swapped(found)),
              read(bang({"sets": [exchanged], **settings}) or "{}"))
        scaled = write_set("other", y, {**z, "fine": z["fine"].astype("<f4") * 4.0})
        there = read(bang({"sets": [scaled], **settings}) or "{}")
        agree("logits times 4", {
            "temperature": {"pre": reference.Near(found["temperature"]["pre"]),
                            "fine": reference.Near(4 * found["temperature"]["fine"])},
            "balance": {"temperature": reference.Near(4 * found["balance"]["temperature"])},
            "groups": found["groups"], "calibrated_ose": found["calibrated_ose"]}, there)
        p = write_set("other", *probabilities_of(y, {r: v.astype("<f4").astype(float)
                                                      for r, v in z.items()}), dtype="<f8")
        agree("as probabilities", loosely(found, SKIPPED), read(bang(
            {"sets": [p], "probabilities": True, **settings}) or "{}"))
        if bang({"sets": [data], **settings, "seed": 1000 + turn}) == text:
            lines.append("another seed: the same intervals")
    if lines:
        good = False
    print("\n".join(lines[:3 * SHOWN]) if lines else
          f"{count} data sets: every invariant holds")
    return good


def main(words):
    what, names = (words[1], words[2:]) if len(words) > 1 else ("", [])
    if what == "check":
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
