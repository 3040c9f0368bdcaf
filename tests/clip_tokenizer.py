"""CLIP's tokenizer by its definition, slow and plain; html, case and letters are Python's
own. It shares nothing with what it is compared with."""
import gzip
import html
import unicodedata

CONTEXT = 77
MERGES = 48894
WHITE_SPACE = set("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {
    chr(c) for c in range(0x2000, 0x200b)}
MARKS = ("<|startoftext|>", "<|endoftext|>")
SHORT = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")


def characters():
    """Byte -> character; the order is that of the tokens."""
    prints = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    others = [b for b in range(256) if b not in prints]
    return {b: chr(b) for b in prints} | {b: chr(256 + i) for i, b in enumerate(others)}


BYTE = characters()


def clean(text):
    text = html.unescape(html.unescape(text)).strip()
    out = "".join(" " if c in WHITE_SPACE else c for c in text)
    while "  " in out:
        out = out.replace("  ", " ")
    return out.strip().lower()


def kind(c):
    first = unicodedata.category(c)[0]
    return first if first in "LN" else "space" if c in WHITE_SPACE else "other"


def same_letters(text, pattern):
    """Letters of any case, where a long s is an s."""
    return text.replace("\u017f", "s") == pattern


def words(text):
    """What the pattern finds, one after the other."""
    at = 0
    while at < len(text):
        mark = [m for m in MARKS + SHORT if same_letters(text[at:at + len(m)], m)]
        here = kind(text[at])
        end = at + 1
        if mark:
            end = at + len(mark[0])
        elif here in ("L", "other"):
            while end < len(text) and kind(text[end]) == here:
                end += 1
        if mark or here != "space":
            yield text[at:end]
        at = end


class Tokenizer:
    def __init__(self, lines):
        self.rank = {}
        tokens = list(BYTE.values()) + [c + "</w>" for c in BYTE.values()]
        for i, line in enumerate(lines[:MERGES]):
            left, right = line.split(" ")
            tokens.append(left + right)
            self.rank[left, right] = i
        tokens += MARKS
        self.id = {token: i for i, token in enumerate(tokens)}
        self.count = len(tokens)

    def merge(self, word):
        """One occurrence of the best pair at a time, all of a kind from the left."""
        parts = [BYTE[b] for b in word.encode("utf-8")]
        parts[-1] += "</w>"
        while True:
            ranks = [self.rank.get(pair, MERGES) for pair in zip(parts, parts[1:])]
            best = min(ranks, default=MERGES)
            if best == MERGES:
                return parts
            left, right = parts[ranks.index(best)], parts[ranks.index(best) + 1]
            i = 0
            while i + 1 < len(parts):
                if parts[i] == left and parts[i + 1] == right:
                    parts[i:i + 2] = [left + right]
                i += 1

    def encode(self, text, context=CONTEXT):
        ids = [self.count - 2]
        for word in words(clean(text)):
            if word in MARKS:
                ids.append(self.id[word])
            else:
                ids += [self.id[part] for part in self.merge(word)]
        ids.append(self.count - 1)
        cut = len(ids) > context
        if cut:
            ids = ids[:context - 1] + [self.count - 1]
        return int(cut), ids


def lines_of(path):
    """The merges of a vocabulary file."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return file.read().decode("utf-8").rstrip("\n").split("\n")[1:]
