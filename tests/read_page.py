#!/usr/bin/env python3
"""Reads the page of bang diagnose, to be held against what the command says otherwise:

    read_page.py outline PAGE       headings, captions of tables and figures, kinds of facts
    read_page.py verdicts PAGE      what is decided, how, and why
    read_page.py same PAGE JSON     tables hold the numbers of the JSON; exit status 1 if not"""
import html.parser
import json
import sys

VOID = {"meta", "br", "img", "input", "link", "hr"}


class Element:
    def __init__(self, tag, attributes):
        self.tag, self.attributes, self.children = tag, dict(attributes), []

    def all(self, tag, name=None):
        for child in self.children:
            if isinstance(child, Element):
                if child.tag == tag and name in (None, child.attributes.get("class", "").split(" ")[0]):
                    yield child
                yield from child.all(tag, name)

    def text(self):
        return "".join(c if isinstance(c, str) else c.text() for c in self.children)


class Reader(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]
        self.feed(page)
        assert len(self.open) == 1, f"<{self.open[-1].tag}> is not closed"

    def handle_starttag(self, tag, attributes):
        element = Element(tag, attributes)
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.open[-1].children.append(Element(tag, attributes))

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> in <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


def read(path):
    with open(path, encoding="utf-8") as file:
        root = Reader(file.read()).root
    assert len(list(root.all("script"))) == 1, "text became a script"
    assert not list(root.all("p", "problem")), next(root.all("p", "problem")).text()
    return root


def caption(figure):
    """Without the note of a figure and the link to its numbers."""
    words = next(figure.all("figcaption"))
    others = {id(other) for other in [*words.all("span", "note"), *words.all("a", "tool")]}
    return "".join(c if isinstance(c, str) else c.text() for c in words.children
                   if id(c) not in others).strip()


def columns_of(figure):
    return [h.text() for h in figure.all("th") if h.attributes["scope"] == "col"]


def outline(root):
    for section in root.all("section"):
        print(f"# {next(section.all('h2')).text()}")
        for article in section.all("article"):
            for entry in article.children:
                if not isinstance(entry, Element):
                    continue
                if entry.tag == "figure":
                    assert columns_of(entry) or list(entry.all("svg")), "a figure without a chart"
                    print(caption(entry), "| " + ", ".join(columns_of(entry) or ["chart"]))
                elif entry.tag == "div" and "facts" in entry.attributes.get("class", ""):
                    print("facts:", ", ".join(d.text() for d in entry.all("dt")))


def verdicts(root):
    for verdict in root.all("div", "verdict"):
        claim, because = [p.text() for p in verdict.all("p")]
        print(f"{next(verdict.all('span')).text()}: {claim}\n    {because}")


class Tables:
    """Tables by the beginning of their titles, rows by their first cells."""

    def __init__(self, root):
        self.rows, self.checked = {}, 0
        for figure in root.all("figure", "table"):
            title = caption(figure).split(". ", 1)[1]
            rows = [[c.text() for c in row.all("td")] for row in next(figure.all("tbody")).all("tr")]
            self.rows[title] = rows

    def check(self, title, names, at, wanted):
        title = next(t for t in self.rows if t.startswith(title))
        row = next(r for r in self.rows[title] if r[:len(names)] == names)
        found = row[at].replace("\u2212", "-")
        assert found == wanted, f"{title} {names}, column {at + 1}: {found} for {wanted}"
        self.checked += 1


def number(value, decimals=1, sign="", scale=100):
    if value is None:
        return "\u2013"
    text = f"{scale * value:{sign}.{decimals}f}"
    # what rounds to 0 keeps its sign where signs are told
    return text.lstrip("+-") if value == 0 or not sign and not text.strip("-0.") else text


def interval(value, ends, sign=""):
    return f"{number(value, sign=sign)} [{', '.join(number(e, sign=sign) for e in ends)}]"


def chance(p):
    return "<0.0001" if p < 1e-4 else f"{p:.{4 if p < 1e-3 else 3}f}"


def same_set(tables, name, one):
    roles = ["pre", "fine", "avg", "ose", "calibrated_ose"]
    for at, role in enumerate(roles):
        tables.check("Accuracy in", [name], 2 + at,
                     interval(one["accuracy"][role], one["intervals"]["accuracy"][role]))
    places = {}
    for title, pairs in [("What the average", ["avg pre", "avg fine", "avg ose"]),
                         ("What fine-tuning", ["fine pre", "ose pre", "ose fine"]),
                         ("What calibration", ["calibrated_ose ose", "avg calibrated_ose"])]:
        for k, pair in enumerate(pairs):
            places[pair] = (title, 1 + 2 * k)
    for d in one["differences"]:
        title, at = places.pop(f"{d['first']} {d['second']}")
        tables.check(title, [name], at, interval(d["value"], (d["low"], d["high"]), "+"))
        tables.check(title, [name], at + 1, chance(d["mcnemar"]["p"]))
    assert not places, f"not in the JSON: {places}"
    for at, group in enumerate(["TTT", "TTF", "TFT", "TFF", "FTT", "FTF", "FFT", "FFF"]):
        count = one["groups"][group]
        tables.check("Samples in", [name], 2 + at, f"{count} ({100 * count / one['n']:.1f})")
    for at, pair in enumerate(["TT", "TF", "FT", "FF"]):
        for k, model in enumerate(["pre", "fine", "sum"]):
            tables.check("Mean margins", [name], 1 + 3 * at + k,
                         number(one["margin"][model][pair], 2, "+", 1))
    for role, title in zip(roles, ["PM", "FM", "AM", "OSE"]):
        keys = ["confidence", "gap", "ece", "mce", "rms", "ece_equal_mass", "mce_equal_mass",
                "rms_equal_mass", "nll", "brier"]
        for at, key in enumerate(keys):
            scores = key in ("nll", "brier")
            tables.check("Confidence and", [name, title], 2 + at,
                         number(one[key][role], 3 if scores else 1, "+" if key == "gap" else "",
                                1 if scores else 100))
    for pair in one["diversity"]:
        names = {"pre": "PM", "fine": "FM", "avg": "AM", "ose": "OSE"}
        two = f"{names[pair['first']]}, {names[pair['second']]}"
        if two in ("PM, FM", "AM, OSE"):
            for at, key in enumerate(["agreement", "disagreement", "both_wrong", "same_mistake"]):
                tables.check("How much", [name, two], 2 + at, number(pair[key]))
            tables.check("How much", [name, two], 6, number(pair["error_correlation"], 3, "", 1))


def same(root, path):
    tables = Tables(root)
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    for one in found["sets"]:
        same_set(tables, one["name"] + (" (ID)" if one["name"] == found["id"] else ""), one)
    mean = found["average_ood"]
    for at, role in enumerate(["pre", "fine", "avg", "ose", "calibrated_ose"]):
        tables.check("Accuracy in", ["average OOD"], 2 + at,
                     interval(mean["accuracy"][role], mean["intervals"]["accuracy"][role]))
    print(tables.checked, "numbers are the same")


def main():
    what, page, *more = sys.argv[1:]
    try:
        {"outline": outline, "verdicts": verdicts, "same": same}[what](read(page), *more)
    except AssertionError as problem:
        sys.exit(f"{page}: {problem}")


if __name__ == "__main__":
    main()
