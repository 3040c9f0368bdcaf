"""Everything that `bang diagnose` says, written once more from its definitions with numpy
alone and nothing of bang's: `diagnose_check.py` compares the two.

A case is a dict of what the options say,

    {"sets": [{"name", "labels", "pre", "fine", "avg", "classes", "at": {alpha: file}}],
     "weights", "alphas", "bins", "level", "bootstrap", "id", "fit", "temperature",
     "probabilities", "label_numbers", "list", "by_class", "class_names", "curve", "highlight"}

and diagnosis(case) is the JSON as it should be, in which a leaf is a number that must be
met exactly, a Near that allows a stated error, or None where there is no value. Files are
read by np.load; numbers are float64 from then on.

Where a result hangs on a bit that rounding may turn (a confidence on the edge of a bin,
two classes of an ensemble within 1e-12 of each other), the definition does not say which
it is: such rows are counted, and what they could change is left out (None is not expected
there, any value is)."""
import csv
import math
import os

import numpy as np

from diagnose_measures import (
    Anything, CURVES, DIFFERENCES, FOUR, GROUPS, Member, Near, PAIRS, RESAMPLES,
    alpha_replicates, balanced_temperature, bin_gaps, class_outputs, classes_of_labels,
    equal_mass, equal_width, fitted_temperature, given_probabilities, group_numbers, interval,
    log_softmax, logits, mcnemar, near, of_given, of_logits, of_probabilities, of_sum, phi,
    replicate_values, resamples, score, student, student_quantile)

# ---- One set ----


class Set:
    """A set of a case, read and scored."""

    def __init__(self, case, given):
        names = None
        if case.get("class_names"):
            with open(case["class_names"], encoding="utf-8") as file:
                names = file.read().split("\n")
        self.given, self.name = given, given.get("name", "data")
        self.outputs = np.load(given["pre"]).shape[1]
        own = class_outputs(given.get("classes", case.get("classes")), names)
        numbers = case.get("label_numbers", "auto")
        self.rows = np.arange(len(np.load(given["pre"], mmap_mode="r")))
        self.left_out, self.labels = 0, None
        if given.get("labels"):
            labels = classes_of_labels(given["labels"], own, numbers)
            self.rows = self.rows[labels >= 0]
            self.left_out, self.labels = int((labels < 0).sum()), labels[labels >= 0]

        def read(path):
            z = logits(path, own, case.get("probabilities"))[self.rows]
            if case.get("probabilities"):
                self.p[id(z)] = given_probabilities(path, own)[self.rows]
            return z

        self.p, self.whole = {}, own is None  # of the files, where they hold probabilities

        self.pre, self.fine = read(given["pre"]), read(given["fine"])
        self.at = {float(a): read(f) for a, f in given.get("at", {}).items()}
        self.average = "given" if given.get("avg") else "at 0.5" if 0.5 in self.at else "ose"
        self.avg = read(given["avg"]) if given.get("avg") else self.at.get(0.5)
        self.n, self.classes = self.pre.shape

    def single(self, z):
        """A model by itself, at no temperature."""
        return of_given(self.p[id(z)], self.whole) if id(z) in self.p else of_logits(z)

    def members(self, case, temperatures):
        w = np.array(case.get("weights", (0.5, 0.5)), float)
        w = list(w / w.sum())
        models = [self.pre, self.fine]
        given = [self.p[id(z)] for z in models] if self.p else None
        roles = {"pre": self.single(self.pre), "fine": self.single(self.fine)}
        ose = of_sum(models, w)
        if 0 in w and self.p:  # one model alone
            ose = self.single(models[w.index(1)])
        roles["avg"] = self.single(self.avg) if self.avg is not None else ose
        roles["ose"] = ose
        if min(w) >= 0:
            roles["ose_probabilities"] = of_probabilities(models, w, given)
        if temperatures:
            scaled = [z / t for z, t in zip(models, temperatures)]
            for role, z, t in zip(("pre_calibrated", "fine_calibrated"), models, temperatures):
                roles[role] = of_logits(z, 1 / t) if t != 1 else self.single(z)
            roles["calibrated_ose"] = Member(w[0] * scaled[0] + w[1] * scaled[1], log_softmax(
                w[0] * scaled[0] + w[1] * scaled[1]), models)
            if min(w) >= 0:
                roles["calibrated_ose_probabilities"] = of_probabilities(scaled, w)
        self.temperature = dict(zip(("pre", "fine"), temperatures or ()))
        self.roles = {name: score(m, self.labels) for name, m in roles.items()}
        return self.roles


def bins_json(bins, ends):
    return [{"low": near(low), "high": near(high), "count": count, "confidence": near(confidence),
             "accuracy": near(accuracy)}
            for (count, confidence, accuracy), (low, high) in zip(bins, ends)]


def calibration_part(data, case):
    """ece .. rms_equal_mass and the reliability curves of a labelled set."""
    count = case.get("bins", 15)
    out = {key: {} for key in ("ece", "mce", "rms", "ece_equal_mass", "mce_equal_mass",
                               "rms_equal_mass", "reliability")}
    for role, m in data.roles.items():
        model = role.replace("_calibrated", "")
        itself = role in FOUR or data.temperature.get(model) == 1  # a temperature of 1 is none
        bins, doubt = equal_width(m.confidence, m.right, count)
        doubt = 0 if m.exact else doubt + int(m.doubt.sum())
        found = bin_gaps(bins, data.n)
        ends = [(b / count, (b + 1) / count) for b in range(count)]
        curve = {"equal_width": Anything if doubt else bins_json(bins, ends), "equal_mass": None}
        for key in ("ece", "mce", "rms"):
            # a root: an error of 1e-16 in its square is 1e-8 where it is 0
            room = 1e-8 if key == "rms" else 1e-12
            out[key][role] = Anything if doubt else near(found[key], 1e-9, room)
        if itself:
            constant = np.ptp(m.logp, axis=1) == 0
            # of two classes the sum has one order, and equal logits give equal bits
            sure = (m.confidence == 1) | constant | m.exact
            sure |= data.classes == 2 and not m.mixed
            bins, doubt = equal_mass(m.confidence, m.right, count, sure)
            doubt += int(m.doubt.sum())
            found = bin_gaps([b[:3] for b in bins], data.n)
            for key in ("ece", "mce", "rms") if role in FOUR else ():
                out[key + "_equal_mass"][role] = Anything if doubt else near(
                    found[key], 1e-9, 1e-8 if key == "rms" else 1e-12)
            curve["equal_mass"] = Anything if doubt else bins_json([b[:3] for b in bins],
                                                                   [b[3:] for b in bins])
        if role in CURVES:
            out["reliability"][role] = curve
    return out


def unlabelled_part(data, case):
    """What has no value without labels; bins say only how confident a model is."""
    nothing, roles = dict.fromkeys, list(data.roles)
    out = {key: nothing(roles) for key in ("ece", "mce", "rms")}
    out.update({key + "_equal_mass": nothing(FOUR) for key in ("ece", "mce", "rms")})
    out.update(nothing(("false_false_true", "true_true_false", "improvement", "corrected_ratio",
                        "calibrated_ose")))
    out["groups"] = nothing(GROUPS)
    out["improve_contribution"] = nothing(("tt_ff", "tf_ft", "all"))
    out["margin"] = {name: nothing(PAIRS) for name in ("pre", "fine", "avg", "sum")}
    out["differences"] = [{"first": first, "second": second, "value": None, "low": None,
                           "high": None, "standard_error": None, "mcnemar": None}
                          for first, second in DIFFERENCES]
    count, out["reliability"] = case.get("bins", 15), {}
    for role in roles:
        confidence = data.roles[role].confidence
        bins, doubt = equal_width(confidence, None, count)
        doubt = 0 if data.roles[role].exact else doubt
        ends = [(b / count, (b + 1) / count) for b in range(count)]
        curve = {"equal_width": Anything if doubt else bins_json(bins, ends), "equal_mass": None}
        if role in FOUR:
            bins, _ = equal_mass(confidence, None, count, None)
            curve["equal_mass"] = bins_json([b[:3] for b in bins], [b[3:] for b in bins])
        if role in CURVES:
            out["reliability"][role] = curve
    return out


def diversity_part(data):
    out = []
    for i, first in enumerate(FOUR):
        for second in FOUR[i + 1:]:
            a, b = data.roles[first], data.roles[second]
            same = a.prediction == b.prediction
            doubt = (a.doubt | b.doubt).sum() / data.n
            d = {"first": first, "second": second, "agreement": near(same.mean(), 0, doubt + 1e-15),
                 "disagreement": near(1 - same.mean(), 0, doubt + 1e-15), "both_wrong": None,
                 "same_mistake": None, "error_correlation": None}
            if data.labels is not None:
                wrong = ~a.right & ~b.right
                d["both_wrong"] = near(wrong.mean(), 0, doubt + 1e-15)
                d["same_mistake"] = near((wrong & same).mean(), 0, doubt + 1e-15)
                d["error_correlation"] = Anything if doubt else phi(a.right, b.right)
            out.append(d)
    return out


def share(inside):
    return int(inside.sum()) / len(inside)


def groups_part(data):
    """The eight groups and what the paper computes from them."""
    r = data.roles
    right = np.stack([r[name].right for name in ("pre", "fine", "avg")], axis=1)
    letters = np.array(["F", "T"])[right.astype(int)]
    words = ["".join(word) for word in letters]
    data.words = words
    q = group_numbers(right)
    pair = np.array([word[:2] for word in words])
    margin = {name: {g: near(r[name].margin[pair == g].mean()) if (pair == g).any() else None
                     for g in PAIRS} for name in ("pre", "fine", "avg")}
    margin["sum"] = {g: near(margin["pre"][g].value + margin["fine"][g].value)
                     if margin["pre"][g] else None for g in PAIRS}
    return {"groups": {g: words.count(g) for g in GROUPS},
            "false_false_true": words.count("FFT") / data.n,
            "true_true_false": words.count("TTF") / data.n,
            "corrected_ratio": words.count("TFT") / data.n, "margin": margin,
            "improvement": near(q["all"], 0, 1e-15),
            "improve_contribution": {key: near(q[key], 0, 1e-15)
                                     for key in ("tt_ff", "tf_ft", "all")}}


def exact(share_right, case, n):
    """Clopper and Pearson's interval of what is always right, or always wrong."""
    bound = ((1 - case.get("level", 0.95)) / 2) ** (1 / n)
    return [near(bound), 1.0] if share_right else [0.0, near(1 - bound)]


def interval_part(values, case, n, one_set=True):
    """intervals{} and the differences' low, high and standard error."""
    if not case.get("bootstrap", 10000):
        return None, {}
    of = {key: interval(v, case, n) for key, v in values.items()}
    for key, v in values.items():
        if one_set and key[0] == "accuracy" and v.std() == 0 and v[0] in (0, 1):
            of[key] = exact(v[0], case, n), of[key][1]
    out = {"level": case.get("level", 0.95), "replicates": case.get("bootstrap", 10000),
           "accuracy": {key[1]: both[0] for key, both in of.items() if key[0] == "accuracy"},
           "improve_contribution": {key[1]: both[0] for key, both in of.items()
                                    if key[0] == "contribution"}}
    for key in ("false_false_true", "true_true_false", "corrected_ratio"):
        out[key] = of[key][0]
    return out, {key[1:]: both for key, both in of.items() if key[0] == "difference"}


def differences_part(roles, n, intervals, with_test=True):
    out = []
    for first, second in DIFFERENCES:
        if first not in roles or second not in roles:
            out.append({"first": first, "second": second, "value": None, "low": None, "high": None,
                        "standard_error": None})
            continue
        a, b = roles[first], roles[second]
        doubt = int((a.doubt | b.doubt).sum())
        d = {"first": first, "second": second,
             "value": near((int(a.right.sum()) - int(b.right.sum())) / n, 0, doubt / n + 1e-15)}
        d["mcnemar"] = Anything if doubt else mcnemar(int((a.right & ~b.right).sum()),
                                                      int((b.right & ~a.right).sum()))
        ends, error = intervals.get((first, second), (None, None))
        if doubt:
            d.update(low=Anything, high=Anything, standard_error=Anything)
        else:
            d.update(low=ends and ends[0], high=ends and ends[1], standard_error=error)
        out.append(d)
    return out


def alpha_scores(data, case, members, random):
    """accuracy .. ece of the average, or the ensemble, at each alpha."""
    out = []
    for alpha, m in members:
        score(m, data.labels)
        s = {"alpha": near(alpha, 0, 0), "confidence": near(m.confidence.mean()), "accuracy": None,
             "low": None, "high": None, "nll": None, "ece": None}
        if data.labels is not None:
            bins, doubt = equal_width(m.confidence, m.right, case.get("bins", 15))
            s["accuracy"] = near(share(m.right), 0, m.doubt.sum() / data.n)
            s["nll"] = near(m.nll.mean())
            doubt = 0 if m.exact else doubt
            s["ece"] = Anything if doubt or m.doubt.any() else near(bin_gaps(bins, data.n)["ece"])
            if case.get("bootstrap", 10000) and not m.doubt.any():
                kinds, rows = np.unique(m.right, return_inverse=True)
                values = resamples(kinds, rows, random, RESAMPLES) @ kinds / data.n
                s["low"], s["high"] = interval(values, case, data.n)[0]
                if m.right.all() or not m.right.any():
                    s["low"], s["high"] = exact(m.right.all(), case, data.n)
            elif m.doubt.any():
                s["low"] = s["high"] = Anything
        out.append(s)
    return out


def against_ensembles(data, case, scores, ensembles, random):
    """What the averages have more than the ensembles at their alphas: minus_ose."""
    w = np.array(case.get("weights", (0.5, 0.5)), float)
    beside = {float((w / w.sum())[1]): data.roles["ose"]} | dict(ensembles)
    for s, (alpha, m) in zip(scores, data.wse):
        s["minus_ose"] = None
        other = beside.get(alpha)
        if other is None or data.labels is None:
            continue
        b, c = int((m.right & ~other.right).sum()), int((other.right & ~m.right).sum())
        ends = [None, None]
        if case.get("bootstrap", 10000):
            kinds, rows = np.unique(m.right.astype(int) - other.right, return_inverse=True)
            ends = interval(resamples(kinds, rows, random, RESAMPLES) @ kinds / data.n, case,
                            data.n)[0]
        s["minus_ose"] = Anything if (m.doubt | other.doubt).any() else {
            "value": near((b - c) / data.n, 0, 1e-15), "low": ends[0], "high": ends[1],
            "p": mcnemar(b, c)["p"]}


def samples_part(data, case):
    wanted = GROUPS if case["list"] == "all" else case["list"].split(",")
    rows = [int(r) for r in data.rows]
    details = []
    for i, (row, word) in enumerate(zip(rows, data.words)):
        if word in wanted:
            three = [(name, data.roles[name]) for name in ("pre", "fine", "avg")]
            details.append({
                "index": row, "group": word, "label": int(data.labels[i]),
                "predictions": {name: int(m.prediction[i]) for name, m in three},
                "confidence": {name: near(m.confidence[i]) for name, m in three},
                "margin": {name: near(m.margin[i]) for name, m in three}})
    return {"samples": {g: [row for row, word in zip(rows, data.words) if word == g]
                        for g in GROUPS if g in wanted}, "samples_detail": details}


def classes_part(data):
    out = []
    for c in range(data.classes):
        here = data.labels == c
        out.append({"class": c, "n": int(here.sum()), "accuracy": {
            role: share(data.roles[role].right[here]) if here.any() else None for role in FOUR}})
    return out


def set_diagnosis(data, case, temperatures, random):
    roles = data.members(case, temperatures)
    labelled = data.labels is not None

    def each(what, doubtful=False):
        return {name: Anything if doubtful and m.doubt.any() else what(m)
                for name, m in roles.items()} if labelled else dict.fromkeys(roles)

    out = {"name": data.name, "n": data.n, "left_out": data.left_out, "outputs": data.outputs,
           "classes": data.classes, "average": data.average,
           "confidence": {name: near(m.confidence.mean()) for name, m in roles.items()},
           "accuracy": each(lambda m: share(m.right), True),
           "gap": each(lambda m: near(m.confidence.mean() - share(m.right)), True),
           "nll": each(lambda m: near(m.nll.mean())), "brier": each(lambda m: near(m.brier.mean())),
           "temperature": dict(zip(("pre", "fine"), (near(t, 1e-8) for t in temperatures)))
           if temperatures else {"pre": None, "fine": None},
           "diversity": diversity_part(data)}
    target = roles["pre"].confidence.mean()
    tau, at_limit = balanced_temperature(data.fine, target)
    # confidences that hardly depend on T do not say which T it is
    there, around = (np.exp(log_softmax(data.fine / t)).max(axis=1).mean()
                     for t in (tau, tau * (1 + 1e-6)))
    data.balance_settled = at_limit or there - around > 1e-9
    data.balanced_alpha = 1 / (1 + tau)
    settled = data.balance_settled
    out["balance"] = {"temperature": near(tau, 1e-8) if settled else Anything,
                      "alpha": near(1 / (1 + tau), 1e-8) if settled else Anything,
                      "at_limit": at_limit if settled else Anything}
    if not labelled:
        out.update(unlabelled_part(data, case))
    if labelled:
        out.update(calibration_part(data, case))
        out.update(groups_part(data))
        out["calibrated_ose"] = out["accuracy"].get("calibrated_ose")
        data.values = replicate_values(roles, random)
        intervals, differences = interval_part(data.values, case, data.n)
        if intervals:
            for name, m in roles.items():
                if m.doubt.any():
                    intervals["accuracy"][name] = Anything
        out["intervals"] = intervals
        out["differences"] = differences_part(roles, data.n, differences)
    if data.at:
        alphas = {0.0: data.pre, 1.0: data.fine} | data.at
        data.wse = [(a, data.single(alphas[a])) for a in sorted(alphas)]
        out["averages"] = alpha_scores(data, case, data.wse, random)
    members = []
    if case.get("alphas"):
        members = [(a, data.single((data.pre, data.fine)[int(a)]) if a in (0, 1) else
                    of_sum([data.pre, data.fine], (1 - a, a)))
                   for a in sorted(float(text) for text in case["alphas"])]
        out["ensembles"] = alpha_scores(data, case, members, random)
    if data.at:
        against_ensembles(data, case, out["averages"], members, random)
    if case.get("by_class") and labelled:
        out["classes_detail"] = classes_part(data)
    if case.get("list") and labelled:
        out.update(samples_part(data, case))
    return out


# ---- Over all sets ----


def average_ood(sets, found, case):
    """Means over the labelled sets out of distribution."""
    if not sets:
        return None
    n = sum(data.n for data in sets)

    def mean(get):
        values = [get(f) for f in found]
        if any(v is Anything for v in values):
            return Anything
        if any(v is None for v in values):
            return None
        values = [v.value if isinstance(v, Near) else v for v in values]
        return near(sum(values) / len(values))

    roles = list(found[0]["accuracy"])
    given = sum(data.average != "ose" for data in sets)
    out = {"sets": len(sets),
           "average": "given" if given == len(sets) else "mixed" if given else "ose"}
    for key in ("accuracy", "confidence", "ece"):
        out[key] = {r: mean(lambda f, k=key, r=r: f[k][r]) for r in roles}
    for key in ("improvement", "false_false_true", "true_true_false", "corrected_ratio"):
        out[key] = mean(lambda f, k=key: f[k])
    out["improve_contribution"] = {k: mean(lambda f, k=k: f["improve_contribution"][k])
                                   for k in ("tt_ff", "tf_ft", "all")}
    values = {key: sum(data.values[key] for data in sets) / len(sets) for key in sets[0].values}
    intervals, differences = interval_part(values, case, n / len(sets), False)
    doubtful = {r for data in sets for r, m in data.roles.items() if m.doubt.any()}
    if intervals:
        intervals["accuracy"].update(dict.fromkeys(doubtful, Anything))
        out["intervals"] = intervals
    out["differences"] = []
    for i, d in enumerate(found[0]["differences"]):
        ends, error = differences.get((d["first"], d["second"]), (None, None))
        e = {"first": d["first"], "second": d["second"],
             "value": mean(lambda f, i=i: f["differences"][i]["value"]),
             "low": ends and ends[0], "high": ends and ends[1], "standard_error": error}
        if doubtful & {d["first"], d["second"]}:
            e.update(low=Anything, high=Anything, standard_error=Anything, value=Anything)
        out["differences"].append(e)
    return out


def alpha_part(sets, which_id, case, random):
    """The rules that choose alpha. cost: what is lacking to the best there is; intervals are of
    the alphas that were chosen."""
    there = next((data for data in sets if data.at), None)
    if there is None:
        return None
    alphas = [a for a, _ in there.wse]
    id_set = sets[which_id]
    ood = [data for i, data in enumerate(sets) if i != which_id]
    scored = [data for data in ood if data.at and data.labels is not None]
    by_ood = by_id = drawn = None
    if scored:
        by_ood = [sum(share(data.wse[i][1].right) for data in scored) / len(scored)
                  for i in range(len(alphas))]
        drawn = sum(alpha_replicates(data, random) for data in scored) / len(scored)
    if id_set.at and id_set.labels is not None:
        by_id = [share(m.right) for _, m in id_set.wse]

    def best(values):  # of equals the nearest to 1/2, then the lower
        top = max(values) - 1e-12
        return min((abs(a - 0.5), a) for a, v in zip(alphas, values) if v >= top)[1]

    rules = []
    if by_id:
        rules.append(("id-accuracy", best(by_id), 0))
    for name, some in (("balanced-confidence-ood", ood), ("balanced-confidence-id", [id_set])):
        if some:
            settled = all(data.balance_settled for data in some)
            rules.append((name, sum(data.balanced_alpha for data in some) / len(some),
                          1e-8 if settled else None))
    rules.append(("half", 0.5, 0))
    if by_ood:
        rules.append(("oracle", best(by_ood), 0))
    out = []
    for name, alpha, room in rules:
        if room is None:
            out.append({"rule": name})
            continue
        i = min(range(len(alphas)), key=lambda k: (abs(alphas[k] - alpha), alphas[k]))
        rule = {"rule": name, "alpha": near(alpha, room, 0), "nearest": near(alphas[i], 0, 0),
                "accuracy_id": near(by_id[i], 0, 1e-15) if by_id else None, "accuracy_ood": None,
                "low": None, "high": None, "cost": None, "cost_low": None, "cost_high": None}
        if by_ood:
            rule.update(accuracy_ood=near(by_ood[i], 0, 1e-15),
                        cost=near(max(by_ood) - by_ood[i], 0, 1e-15))
        if by_ood and case.get("bootstrap", 10000):
            n = sum(data.n for data in scored) / len(scored)
            oracle = drawn[:, alphas.index(best(by_ood))]
            rule["low"], rule["high"] = interval(drawn[:, i], case, n)[0]
            rule["cost_low"], rule["cost_high"] = interval(oracle - drawn[:, i], case, n)[0]
        out.append(rule)
    return {"alphas": [near(a, 0, 0) for a in alphas], "rules": out}


# ---- The curve ----


def accuracy_of(path, labels, outputs):
    z = logits(path, outputs, False)
    y = classes_of_labels(labels, outputs, "auto")
    return share((z.argmax(axis=1) == y)[y >= 0])


def curve_points(path):
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file, skipinitialspace=True))
    folder = os.path.dirname(path)
    points = {}
    for row in rows:
        if row.get("labels"):
            own = class_outputs(row.get("classes") or None)
            pair = [accuracy_of(os.path.join(folder, row[key]),
                                os.path.join(folder, row["labels"]), own)
                    for key in ("fine", "avg")]
        else:
            pair = [float(row["fine"]), float(row["avg"])]
        points.setdefault(row["name"], []).append(pair)
    means = {name: np.mean(pairs, axis=0) for name, pairs in points.items()}
    if any((pair > 1).any() for pair in means.values()):
        means = {name: pair / 100 for name, pair in means.items()}
    return means


def curve_part(case, found):
    """Least squares of a parabola. found["band"]["fine"]: where the band is asked for."""
    level = case.get("level", 0.95)
    points = curve_points(case["curve"])
    chosen = case.get("highlight", [])
    fitted = {name: pair for name, pair in points.items() if name not in chosen}
    x, y = np.array(list(fitted.values())).T
    design = np.stack([np.ones_like(x), x, x * x], axis=1)
    c = np.linalg.lstsq(design, y, rcond=None)[0]
    rss, n = ((y - design @ c) ** 2).sum(), len(x)
    total = ((y - y.mean()) ** 2).sum()
    s = math.sqrt(rss / (n - 3)) if n > 3 else math.nan
    # h = |R'^-1 v|^2 with the R of a QR in a centred x
    middle, wide = x.mean(), np.ptp(x)

    def vector(at):
        u = (np.asarray(at) - middle) / wide
        return np.stack([np.ones_like(u), u, u * u], axis=-1)

    r = np.linalg.qr(vector(x))[1]

    def leverage(at):
        return (np.linalg.solve(r.T, vector(at).T) ** 2).sum(axis=0)

    t_level = student_quantile((1 + level) / 2, n - 3) if n > 3 else math.nan
    room = {"relative": 1e-9, "absolute": 1e-10}
    out = {"n": n, "coefficients": [near(v, 1e-7, 1e-9) for v in c], "level": level,
           "r_squared": near(1 - rss / total if total else math.nan, **room),
           "residual_sd": near(s, 1e-9, 1e-9),
           "points": [{"name": name, "fine": near(pair[0]), "avg": near(pair[1])}
                      for name, pair in fitted.items()], "highlight": []}
    for name in chosen:
        at, value = points[name]
        predicted = float(c @ [1, at, at * at])
        error = s * math.sqrt(1 + leverage(at)) if n > 3 else math.nan
        t = abs(value - predicted) / error if n > 3 and error > 0 else math.nan
        out["highlight"].append({
            "name": name, "fine": near(at), "avg": near(value),
            "predicted": near(predicted, **room),
            "residual": near(value - predicted, **room), "standard_error": near(error, 1e-9, 1e-9),
            "p": near(2 * student(-t, n - 3), 1e-7) if n > 3 and error > 1e-9 else Anything,
            "low": near(predicted - t_level * error, 1e-8, 1e-9),
            "high": near(predicted + t_level * error, 1e-8, 1e-9),
            "extrapolated": bool(at < x.min() or at > x.max())})
    at = np.array(found["curve"]["band"]["fine"], float)
    half = t_level * s * np.sqrt(leverage(at))
    ends = [pair[0] for pair in points.values()]
    if at[0] != min(ends) or at[-1] != max(ends) or (np.diff(at) <= 0).any():
        at = np.full(len(at), math.nan)
    line = np.stack([np.ones_like(at), at, at * at], axis=1) @ c
    out["band"] = {"fine": [near(v, 0, 0) for v in at], "avg": [near(v, **room) for v in line],
                   "low": [near(v, 1e-8, 1e-9) for v in line - half],
                   "high": [near(v, 1e-8, 1e-9) for v in line + half]}
    return out


# ---- All of it ----


def fit(sets, case, which_id):
    """(temperatures or None, which set they are of, at their limits)."""
    if case.get("temperature"):
        return list(case["temperature"]), None, None
    name = case.get("fit", sets[which_id].name)
    if name == "none":
        return None, None, None
    data = next(data for data in sets if data.name == name)
    if data.labels is None:
        return None, None, None
    both = [fitted_temperature(z, data.labels) for z in (data.pre, data.fine)]
    return [t for t, _ in both], name, dict(zip(("pre", "fine"), (limit for _, limit in both)))


def diagnosis(case, found):
    """What the JSON `found` should be; found itself says only where the band is drawn."""
    random = np.random.default_rng(case.get("reference_seed", 5))
    out = {}
    sets = [Set(case, given) for given in case.get("sets", [])]
    if sets:
        names = [data.name for data in sets]
        which_id = names.index(case.get("id", names[0]))
        temperatures, fitted_on, limits = fit(sets, case, which_id)
        out["sets"] = [set_diagnosis(data, case, temperatures, random) for data in sets]
        out["id"], out["temperature_fitted_on"] = names[which_id], fitted_on
        if limits:
            out["temperature_at_limit"] = limits
        labelled = [i for i, data in enumerate(sets) if i != which_id and data.labels is not None]
        out["average_ood"] = average_ood([sets[i] for i in labelled],
                                         [out["sets"][i] for i in labelled], case)
        out["alpha"] = alpha_part(sets, which_id, case, random)
        if len(sets) == 1:
            out.update(out["sets"][0])
    if case.get("curve"):
        out["curve"] = curve_part(case, found)
    return out


def differences(expected, found, where=""):
    """Lines, one for each place where found is not as expected."""
    if expected is Anything:
        return []
    if expected is None:
        return [] if found is None else [f"{where}: {str(found)[:80]} instead of null"]
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            return [f"{where}: {found!r} instead of an object"]
        return [line for key, value in expected.items()
                for line in differences(value, found.get(key), f"{where}.{key}")]
    if isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return [f"{where}: not the {len(expected)} expected: {str(found)[:80]}"]
        return [line for i, value in enumerate(expected)
                for line in differences(value, found[i], f"{where}[{i}]")]
    if isinstance(expected, Near):
        good = expected.meets(found)
    else:
        good = found == expected and isinstance(found, bool) == isinstance(expected, bool)
    return [] if good else [f"{where}: {found!r} instead of {expected!r}"]


def leaves(tree):
    """How many values are compared."""
    if isinstance(tree, dict):
        return sum(leaves(v) for v in tree.values())
    if isinstance(tree, list):
        return sum(leaves(v) for v in tree)
    return 0 if tree is Anything else 1


def unsettled(tree):
    if isinstance(tree, dict):
        return sum(unsettled(v) for v in tree.values())
    if isinstance(tree, list):
        return sum(unsettled(v) for v in tree)
    return 1 if tree is Anything else 0
