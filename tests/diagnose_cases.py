"""Data sets and options on which diagnose_check.py compares `bang diagnose` with
diagnose_reference.py. A case makes its files in the current folder."""
import itertools
import json

import numpy as np

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
def alphas_of_equal_accuracy():
    """Of equals the nearest to 1/2, then the lower."""
    sets = [made(160 + i, 60, 6, name=name) for i, name in enumerate(("id", "ood"))]
    for data in sets:
        y = np.load(data["labels"])
        same = save(f"{data['name']}-same.npy", answers(y, 6, y >= 0, 1), "<f4")
        data["at"] = dict.fromkeys(("0.1", "0.4", "0.6", "0.9"), same)
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
def accuracies_of_every_class():
    return one(161, 300, 40, options={"by_class": True})


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


def in_fifteenths(seed, draws, dtype):
    """On the edges of bins: a last bit decides about the bin."""
    def change(y, z):
        rng = np.random.default_rng(draws)
        return y, {role: rng.multinomial(15, e) / 15
                   for role, e in probabilities_of(y, z)[1].items()}
    return one(seed, 2000, 6, dtype=dtype, change=change, options={"probabilities": True})


@case
def probabilities_on_the_edges_of_bins():
    return in_fifteenths(99, 7, "<f8")


@case
def probabilities_on_edges_f32():
    return in_fifteenths(100, 8, "<f4")


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
        options["by_class"] = True
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
