"""python_cases.py BANG: the module against the command, on random inputs."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import types
import unittest

import numpy as np

import bang

COMMAND = sys.argv.pop(1)


def run(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments), "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def sample(seed, rows=300, classes=7, kind=np.float32):
    random = np.random.RandomState(seed)
    labels = random.randint(classes, size=rows)
    logits = [(2 * random.standard_normal((rows, classes)) + s * np.eye(classes)[labels])
              .astype(kind) for s in (1.5, 2, 2.5)]  # fmt: skip
    return labels, logits


class Diagnose(unittest.TestCase):
    def same(self, labels, logits, *options, **keywords):
        for name, array in zip(("y", "pre", "fine", "avg"), (labels, *logits)):
            np.save(name + ".npy", array)
        names = [w for n, a in zip(("pre", "fine", "avg"), logits) for w in ("--" + n, n + ".npy")]
        if labels is not None:
            names += ["--labels", "y.npy"]
        theirs = run("diagnose", *names, *options)
        ours = bang.diagnose(labels, **dict(zip(("pre", "fine", "avg"), logits)), **keywords)
        self.assertEqual(list(ours), list(theirs))
        for key in theirs:
            if key != "notes":  # they name options
                self.assertEqual(ours[key], theirs[key], key)
        self.assertEqual(len(ours["notes"]), len(theirs["notes"]))
        return ours

    def test_types(self):
        for i, kind in enumerate((np.float16, np.float32, np.float64)):
            labels, logits = sample(i, kind=kind)
            for code in "bBhHiIlLqQ":
                self.same(labels.astype(code), logits, "--bootstrap", 0, bootstrap=0)

    def test_all_defaults(self):
        labels, logits = sample(9, rows=500, classes=3)
        told = self.same(labels, logits)
        self.assertEqual(sum(told["groups"].values()), 500)
        right = float(np.mean(logits[2].argmax(1) == labels))
        self.assertAlmostEqual(told["accuracy"]["avg"], right, 12)

    def test_without(self):
        labels, logits = sample(3)
        self.same(labels, logits[:2], "--bootstrap", 100, bootstrap=100)
        self.same(None, logits, "--bootstrap", 100, bootstrap=100)

    def test_options(self):
        labels, logits = sample(4)
        self.same(labels, logits, "--name", "x", "--bins", 10, "--bootstrap", 200, "--level", 0.9,
                  "--weights", "0.25,0.75", "--temperature", "1.5,2", "--list", "FFT,TTF",
                  "--by-class", "--seed", 7, name="x", bins=10, bootstrap=200, level=0.9,
                  weights=(0.25, 0.75), temperature=(1.5, 2), list=["FFT", "TTF"], by_class=True,
                  seed=7)  # fmt: skip
        odds = [np.exp(a) / np.exp(a).sum(1, keepdims=True) for a in logits]
        self.same(labels, odds, "--probabilities", "--bootstrap", 0, probabilities=True,
                  bootstrap=0)  # fmt: skip

    def test_views(self):
        """Arrays that do not lie in C order, and labels as a column."""
        labels, logits = sample(5)
        wide = [np.asfortranarray(np.repeat(a, 2, axis=0))[::2] for a in logits]
        told = bang.diagnose(labels[:, None], pre=wide[0], fine=wide[1], avg=wide[2], bootstrap=0)
        plain = bang.diagnose(labels, pre=logits[0], fine=logits[1], avg=logits[2], bootstrap=0)
        self.assertEqual(told, plain)

    def test_refuses(self):
        labels, (pre, fine, avg) = sample(6)

        def refused(error, text, labels=labels, pre=pre, fine=fine, **more):
            with self.assertRaisesRegex(error, text):
                bang.diagnose(labels, pre=pre, fine=fine, **more)

        refused(ValueError, r"pre: shape \(300,\)", pre=pre[:, 0])
        refused(ValueError, r"fine: shape \(299, 7\), but pre has \(300, 7\)", fine=fine[1:])
        refused(ValueError, "avg: shape", avg=avg[:, 1:])
        refused(ValueError, "labels: shape", labels=labels[1:])
        refused(ValueError, "labels: shape", labels=np.zeros((300, 2), int))
        refused(ValueError, "pre: .*: there are no rows", pre=np.zeros((0, 7)))
        refused(ValueError, "out of range", labels=np.full(300, 2**63, np.uint64))
        refused(TypeError, "labels: float64", labels=labels.astype(float))
        refused(TypeError, "pre: int64", pre=pre.astype(int))
        refused(TypeError, "pre: complex64", pre=pre.astype(np.complex64))
        refused(bang.Error, "labels: ", labels=labels + 1)
        refused(bang.Error, "labels: ", labels=labels - 1)
        refused(bang.Error, "pre", pre=np.full_like(pre, np.nan))
        refused(bang.Error, "probabilities", pre=np.full_like(pre, 1 / 7))
        refused(bang.Error, "list", list=["XYZ"])
        refused(bang.Error, "bins", bins=0)
        refused(bang.Error, "bootstrap", bootstrap=-1)
        refused(bang.Error, "temperature", temperature=[1.0])
        masked = np.ma.masked_array(pre, np.arange(pre.size).reshape(pre.shape) == 5)
        refused(TypeError, "pre: is masked", pre=masked)
        refused(TypeError, "avg: is masked", avg=masked)
        refused(TypeError, "labels: is masked", labels=np.ma.masked_equal(labels, labels[0]))
        refused(ValueError, "probabilities, logits", probabilities=True, logits=True)
        refused(bang.Error, r"say probabilities, or logits if", pre=np.full_like(pre, 1 / 7))
        refused(TypeError, "name: 3", name=3)
        for text in ("a\0b", "\ud800"):
            refused(ValueError, "name: ", name=text)
            refused(ValueError, "list: ", list=[text])
        for bad in (-1, 2**63, 2**64):
            refused(ValueError, f"seed: {bad}", seed=bad)
        for name in ("bins", "threads", "bootstrap"):
            refused(ValueError, f"{name}: {2**64}", **{name: 2**64})
        for bad in (np.nan, np.inf):
            refused(ValueError, f"level: {bad}: must be finite", level=bad)
            refused(ValueError, f"weights: {bad}: must be finite", weights=(0.5, bad))
            refused(ValueError, f"temperature: {bad}: must be finite", temperature=(1, bad))
        plain = bang.diagnose(labels, pre=pre, fine=fine, bootstrap=0)
        unmasked = np.ma.masked_array(pre, np.zeros(pre.shape, bool))
        self.assertEqual(bang.diagnose(labels, pre=unmasked, fine=fine, bootstrap=0), plain)
        with self.assertRaises(TypeError):
            bang.diagnose(labels, pre=pre, fine=fine, no_such_option=1)


class Theory(unittest.TestCase):
    def test_same(self):
        self.assertEqual(
            bang.theory(0.9, [(2, 3), "2,3"], overlap=(1, 1), best=True, polynomial=True),
            run("theory", "-p", 0.9, "--model", "2,3", "--model", "2,3", "--overlap", "1,1",
                "--best", "--polynomial"))  # fmt: skip
        self.assertEqual(
            bang.theory(0.5, ["v0-1,s0-2", "v1,s2-4", "v2"], classes=10, weights=[1, 2, 0.5],
                        sigma=0.1, failure=True),
            run("theory", "-p", 0.5, "-K", 10, "--model", "v0-1,s0-2", "--model", "v1,s2-4",
                "--model", "v2", "--weights", "1,2,0.5", "--sigma", 0.1, "--failure"))  # fmt: skip
        self.assertEqual(
            bang.theory(0.9, ["2,3", "1,4"], alpha=0.3, scale=2, method="monte-carlo",
                        samples=4096, seed=5),
            run("theory", "-p", 0.9, "--model", "2,3", "--model", "1,4", "--alpha", 0.3,
                "--scale", 2, "--method", "monte-carlo", "--samples", 4096,
                "--seed", 5))  # fmt: skip

    def test_refuses(self):
        for arguments, keywords, text in (
            ((2, ["2,3"]), {}, "shift 2"),
            ((0.9, []), {}, "models"),
            ((0.9, ["x"]), {}, "x"),
            ((0.9, ["2,3"]), {"alpha": 0.5}, "two models"),
            ((0.9, ["2,3", "2,3"]), {"weights": [1]}, "weights"),
            ((0.9, ["2,3"] * 3), {"overlap": (1, 1)}, "overlap"),
            ((0.9, ["2,3"]), {"method": "magic"}, "method magic"),
            ((0.9, ["2,3"]), {"classes": 1}, "class"),
        ):
            with self.assertRaisesRegex(bang.Error, text) as caught:
                bang.theory(*arguments, **keywords)
            self.assertFalse(str(caught.exception).endswith("\n"))
        for keywords in ({"sigma": np.nan}, {"scale": np.inf}, {"alpha": np.nan}, {"seed": -1},
                         {"seed": 2**64}, {"samples": 2**64}, {"classes": 2**40},
                         {"weights": [np.inf, 1]}, {"method": "a\0b"}):  # fmt: skip
            with self.assertRaisesRegex(ValueError, next(iter(keywords)) + ": "):
                bang.theory(0.9, ["2,3", "2,3"], **keywords)
        with self.assertRaisesRegex(ValueError, "shift: "):
            bang.theory(np.nan, ["2,3"])


def write(path, **tensors):
    """safetensors, by hand"""
    header, data = {}, b""
    for name, array in tensors.items():
        raw = np.ascontiguousarray(array, np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}  # fmt: skip
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text + data)


class Average(unittest.TestCase):
    def setUp(self):
        random = np.random.RandomState(1)
        for name in "abc":
            write(name + ".safetensors", w=random.standard_normal((5, 4)),
                  v=random.standard_normal(3))  # fmt: skip

    def same(self, names, *options, **keywords):
        inputs = [n + ".safetensors" for n in names]
        run("average", *inputs, "-o", "theirs.safetensors", *options)
        told = bang.average(inputs, "ours.safetensors", **keywords)
        self.assertEqual((told["tensors"], told["outputs"]), (2, ["ours.safetensors"]))
        with open("ours.safetensors", "rb") as ours, open("theirs.safetensors", "rb") as theirs:
            self.assertEqual(ours.read(), theirs.read())

    def test_same_bytes(self):
        self.same("ab")
        self.same("ab", "--alpha", 0.3, alpha=0.3)
        self.same("abc", "--weights", "0.2,0.3,0.5", weights=[0.2, 0.3, 0.5])
        self.same("ab", "--method", "slerp", "--alpha", 0.25, method="slerp", alpha=0.25)
        self.same("bc", "--method", "ties", "--base", "a.safetensors", "--density", 0.5,
                  method="ties", base="a.safetensors", density=0.5)  # fmt: skip
        self.same("bc", "--method", "dare", "--base", "a.safetensors", "--seed", 3, "--drop", 0.5,
                  method="dare", base="a.safetensors", seed=3, drop=0.5)  # fmt: skip
        self.same("ab", "--dtype", "bf16", "--max-memory", "64M", dtype="bf16",
                  max_memory=64 << 20)  # fmt: skip

    def test_paths(self):
        for form in (os.fsencode, pathlib.Path, str):
            told = bang.average([form("a.safetensors"), form("b.safetensors")], form("é.safetensors"))
            self.assertEqual(told["outputs"], ["é.safetensors"])
            os.remove("é.safetensors")
        for name in (b"\xff.safetensors", "\udcff.safetensors", "a\0b", ""):
            with self.assertRaisesRegex(ValueError, "no UTF-8: rename it|is no name of a file"):
                bang.average(["a.safetensors", "b.safetensors"], name)
        for inputs in ("a.safetensors", [1, 2], None):
            with self.assertRaises(TypeError):
                bang.average(inputs, "refused.safetensors")

    def test_interrupt(self):
        """Ctrl-C raises the cancel that the library looks at, and is raised itself."""
        seen = []

        def bang_bridge_average_until(told, text, cancel, failure):
            os.kill(os.getpid(), signal.SIGINT)
            while not cancel._obj.value:
                time.sleep(0.001)
            seen.append(cancel._obj.value)
            return library.bang_bridge_average_until(told, text, cancel, failure)

        library, two = bang._library, ["a.safetensors", "b.safetensors"]
        bang._library = types.SimpleNamespace(
            bang_bridge_average_until=bang_bridge_average_until,
            bang_cancel_raise=library.bang_cancel_raise,
            bang_bridge_free=library.bang_bridge_free)  # fmt: skip
        try:
            with self.assertRaises(KeyboardInterrupt):
                bang.average(two, "cut.safetensors")
        finally:
            bang._library = library
        self.assertEqual(seen, [1])
        self.assertEqual([name for name in os.listdir(".") if "cut" in name], [])
        # where no signal comes, in another thread
        worker = threading.Thread(target=bang.average, args=(two, "whole.safetensors"))
        worker.start()
        worker.join()
        os.remove("whole.safetensors")

    def test_refuses(self):
        write("other.safetensors", w=np.zeros((2, 2)), u=np.zeros(1))
        write("nan.safetensors", w=np.full((5, 4), np.nan), v=np.zeros(3))
        two = ["a.safetensors", "b.safetensors"]
        for inputs, keywords, text in (
            (two[:1], {}, "inputs: 1"),
            (two, {"weights": [1]}, "weights"),
            (two, {"alpha": "x"}, "alpha x"),
            (two, {"method": "ties"}, "base"),
            (two, {"method": "magic"}, "method magic"),
            (two, {"dtype": "f8"}, "dtype f8"),
            (two, {"threads": -1}, "threads -1: must be 0"),
            (two, {"threads": 4097}, "threads 4097: must be 0"),
            (["a.safetensors", "none.safetensors"], {}, "none.safetensors"),
            (["a.safetensors", "other.safetensors"], {}, "u"),
            (["a.safetensors", "nan.safetensors"], {}, "finite|NaN"),
        ):
            with self.assertRaisesRegex(bang.Error, text) as caught:
                bang.average(inputs, "refused.safetensors", **keywords)
            self.assertFalse(str(caught.exception).endswith("\n"))
        for keywords in ({"scale": np.nan}, {"density": np.inf}, {"drop": np.nan}, {"seed": -1},
                         {"seed": 2**64}, {"max_memory": 2**64}, {"threads": 2**40},
                         {"weights": [np.nan, 1]}, {"method": "a\0b"}, {"dtype": "a\0b"},
                         {"alpha": "0.5\0"}):  # fmt: skip
            with self.assertRaisesRegex(ValueError, next(iter(keywords)) + ": "):
                bang.average(two, "refused.safetensors", **keywords)
        # what the library says of options, in words of the module where it has them
        for inputs, keywords, text in (
            (two, {"max_memory": 1}, "raise max_memory"),
            (["a.safetensors", "nan.safetensors"], {}, ": allow_nan keeps them"),
            (["a.safetensors", "other.safetensors"], {}, "`bang average --rule` 'NAME=0'"),
        ):
            with self.assertRaisesRegex(bang.Error, text):
                bang.average(inputs, "refused.safetensors", **keywords)
        with self.assertRaises(OSError):
            open("refused.safetensors")


unittest.main()
