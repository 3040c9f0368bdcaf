"""Robust fine-tuning from Python: averages of checkpoints, their diagnosis, the theory.

    import bang
    bang.average(["pre.safetensors", "fine.pt"], "robust.safetensors", alpha=0.5)
    found = bang.diagnose(labels, pre=pre, fine=fine, avg=avg)   # logits, numpy arrays (n, classes)
    found["accuracy"]["avg"], found["false_false_true"]
    bang.theory(0.9, ["2,3", "2,3"], overlap=(1, 1))["exact"]["wse"]

One file over libbang.so through ctypes; nothing to build. The library is the file that
BANG_LIBRARY names, else one beside this file or in the prefix or source tree it lies in, else the
system's. What the library refuses becomes a bang.Error with its message.
"""

import ctypes
import json
import math
import os
import pathlib
import re
import threading

__all__ = ["Error", "average", "diagnose", "theory", "version"]
__version__ = "0.1.0"
_SONAME = "libbang.so." + __version__.rpartition(".")[0]


class Error(Exception):
    """What the library said: "what: why: what to do". `code` is negative, as in bang/base/error.h."""

    def __init__(self, message, code=-1):
        super().__init__(message)
        self.code = code


class _Failure(ctypes.Structure):  # bang_error
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 1024)]


def _candidates():
    named = os.environ.get("BANG_LIBRARY")
    if named:
        yield named
        return
    here = pathlib.Path(__file__).resolve().parent
    yield here / _SONAME
    yield here.parent / "build" / _SONAME  # the source tree
    if len(here.parents) > 1:  # PREFIX/lib/python3/dist-packages
        yield here.parents[1] / _SONAME
        yield from sorted(here.parents[1].glob("*/" + _SONAME))
    yield _SONAME


def _load():
    tried = []
    for path in _candidates():
        if os.sep in str(path) and not os.path.exists(path):
            tried.append(str(path))
            continue
        try:
            found = ctypes.CDLL(str(path))
            break
        except OSError as why:
            tried.append(str(why))
    else:
        raise ImportError(
            "libbang: not found: install it, or name the file in BANG_LIBRARY; tried "
            + "; ".join(tried)
        )
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    found.bang_bridge_version.restype = text
    found.bang_bridge_free.argtypes = [pointer]
    found.bang_bridge_free.restype = None
    out, failure = ctypes.POINTER(pointer), ctypes.POINTER(_Failure)
    found.bang_bridge_theory.argtypes = [out, text, failure]
    found.bang_bridge_average_until.argtypes = [out, text, pointer, failure]
    found.bang_cancel_raise.argtypes = [pointer]
    found.bang_bridge_diagnose.argtypes = [
        out, text, pointer, pointer, pointer, pointer, size, size, ctypes.c_int, failure,
    ]  # fmt: skip
    theirs = found.bang_bridge_version().decode()
    if theirs.rpartition(".")[0] != __version__.rpartition(".")[0]:
        raise ImportError(f"{path}: is bang {theirs}, this module is for {__version__}")
    return found


_library = _load()


def _worded(message, function, request):
    """The library names options of the command: arguments here get their own names."""
    command = function.__name__.split("_")[2]

    def word(option):
        name = option[1].replace("-", "_")
        return name if name in request else f"`bang {command} {option[0]}`"

    return re.sub(r"(?<![^\s(])--([a-z]+(?:-[a-z]+)*)", word, message.rstrip("\n"))


def _call(function, request, *arguments):
    told, failure = ctypes.c_void_p(), _Failure()
    text = json.dumps(request).encode()
    code = function(ctypes.byref(told), text, *arguments, ctypes.byref(failure))
    try:
        if code < 0:
            raise Error(_worded(failure.message.decode(errors="replace"), function, request), code)
        return json.loads(ctypes.string_at(told))
    finally:
        _library.bang_bridge_free(told)


def _interruptible(function, request):
    """Ctrl-C ends the call: it waits in a thread, as Python handles no signal while C runs."""
    cancel, told = ctypes.c_int(0), []

    def work():
        try:
            told.append((_call(function, request, ctypes.byref(cancel)), None))
        except BaseException as why:
            told.append((None, why))

    if threading.current_thread() is not threading.main_thread():
        return _call(function, request, ctypes.byref(cancel))
    worker = threading.Thread(target=work)
    try:
        worker.start()
        worker.join()
    except BaseException:
        _library.bang_cancel_raise(ctypes.byref(cancel))
        if worker.is_alive():
            worker.join()
        raise
    answer, why = told[0]
    if why:
        raise why
    return answer


def _path(value):
    """str, bytes or os.PathLike as a text that JSON can carry."""
    text = os.fsdecode(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!r}: the name is no UTF-8: rename it") from None
    if not text or "\0" in text:
        raise ValueError(f"{text!r}: is no name of a file")
    return text


def _real(name, value):
    value = float(value)
    if not math.isfinite(value):
        raise ValueError(f"{name}: {value}: must be finite")
    return value


def _whole(name, value, most=2**31 - 1):
    """An integer that the library can take; what it means there, the library checks."""
    value = int(value)
    if not -most <= value <= most:
        raise ValueError(f"{name}: {value}: must be at most {most}")
    return value


def _seed(value):
    if int(value) < 0:
        raise ValueError(f"seed: {value}: must not be negative")
    return _whole("seed", value, 2**63 - 1)


def _text(name, value):
    if not isinstance(value, str):
        raise TypeError(f"{name}: {value!r}: must be a str")
    if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError(f"{name}: {value!r}: is no text: it holds a 0 or half a character")
    return value


def version():
    """The version of the library."""
    return _library.bang_bridge_version().decode()


def average(inputs, output, *, alpha=None, weights=None, method="linear", base=None, scale=1.0,
            density=0.2, drop=0.9, dtype="keep", allow_nan=False, max_memory=None, seed=1,
            threads=0):  # fmt: skip
    """Combines checkpoints of one architecture into `output`; returns a dict of what was done.

    inputs   paths: safetensors, PyTorch or NumPy files, indexes of shards, or folders
    alpha    weight of the last of two; or weights, one for each; 1/n each if neither is given
    method   linear, slerp, task, ties, dare or stock; the last four need base, the path of
             what the inputs were fine-tuned from
    dtype    keep, f32, f16 or bf16

    The file is the one that `bang average` writes with the same options. Ctrl-C ends it and leaves
    `output` as it was.
    """
    if isinstance(inputs, (str, bytes, os.PathLike)):
        raise TypeError("inputs: must be a list of paths")
    request = {
        "inputs": [_path(path) for path in inputs],
        "output": _path(output),
        "alpha": None if alpha is None else _text("alpha", str(alpha)),
        "weights": None if weights is None else [_real("weights", w) for w in weights],
        "base": None if base is None else _path(base),
        "max_memory": None if max_memory is None else _whole("max_memory", max_memory, 2**63 - 1),
    }
    request.update(method=_text("method", method), scale=_real("scale", scale),
                   density=_real("density", density), drop=_real("drop", drop),
                   dtype=_text("dtype", dtype), allow_nan=bool(allow_nan), seed=_seed(seed),
                   threads=_whole("threads", threads))  # fmt: skip
    return _interruptible(_library.bang_bridge_average_until, request)


def _array(numpy, name, value):
    if numpy.ma.is_masked(value):
        raise TypeError(f"{name}: is masked: leave those rows out of all arrays")
    return numpy.asarray(value)


def _logits(numpy, name, value):
    """An array (n, classes) of float32 or float64 in C order; float16 becomes float32, exactly."""
    array = _array(numpy, name, value)
    if array.size == 0:
        raise ValueError(f"{name}: shape {array.shape}: there are no rows")
    if array.ndim != 2:
        raise ValueError(f"{name}: shape {array.shape}: logits must be (n, classes)")
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise TypeError(f"{name}: {array.dtype}: logits must be float16, float32 or float64")
    return array


def _labels(numpy, value, rows):
    array = _array(numpy, "labels", value)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (rows,):
        raise ValueError(f"labels: shape {array.shape}: one for each of the {rows} rows is needed")
    if array.dtype.kind not in "iu":
        raise TypeError(f"labels: {array.dtype}: labels must be integers")
    if array.dtype.kind == "u" and array.size and int(array.max()) > numpy.iinfo(numpy.int64).max:
        raise ValueError("labels: out of range: they are numbers of classes, from 0")
    return numpy.ascontiguousarray(array, dtype=numpy.int64)


def diagnose(labels, *, pre, fine, avg=None, name="data", bins=15, bootstrap=10000, level=0.95,
             weights=(0.5, 0.5), temperature=None, fit=True, probabilities=False, logits=False,
             list=(), by_class=False, seed=1, threads=0):  # fmt: skip
    """Whether and why an average of two models is better than both, from their logits.

    labels       (n) integers, or None: then confidence and agreement only
    pre, fine    (n, classes) logits of the pre-trained and the fine-tuned model
    avg          (n, classes) of their average; None: the ensemble of outputs takes its place
    bootstrap    resamples for the intervals, at `level`; 0: none
    temperature  of pre and fine; None: fitted on these samples, unless fit is False
    list         groups such as "FFT" whose samples are wanted
    probabilities, logits   what the arrays hold, where that is not plain

    Returns the dict that `bang diagnose --json` prints, with the same numbers; its notes speak of
    arguments (avg) where those of the command speak of options (--avg).
    """
    import numpy

    if probabilities and logits:
        raise ValueError("probabilities, logits: the arrays hold one or the other")
    arrays = {"pre": _logits(numpy, "pre", pre), "fine": _logits(numpy, "fine", fine)}
    if avg is not None:
        arrays["avg"] = _logits(numpy, "avg", avg)
    shape = arrays["pre"].shape
    for key, array in arrays.items():
        if array.shape != shape:
            raise ValueError(f"{key}: shape {array.shape}, but pre has {shape}")
    wide = any(array.dtype.itemsize == 8 for array in arrays.values())
    kind = numpy.float64 if wide else numpy.float32
    arrays = {key: numpy.ascontiguousarray(a, dtype=kind) for key, a in arrays.items()}
    numbers = None if labels is None else _labels(numpy, labels, shape[0])
    request = dict(name=_text("name", name), bins=_whole("bins", bins),
                   bootstrap=_whole("bootstrap", bootstrap, 2**63 - 1), level=_real("level", level),
                   weights=[_real("weights", w) for w in weights], fit=bool(fit),
                   probabilities=bool(probabilities), logits=bool(logits),
                   list=[_text("list", group) for group in list], by_class=bool(by_class),
                   seed=_seed(seed), threads=_whole("threads", threads))  # fmt: skip
    if temperature is not None:
        request["temperature"] = [_real("temperature", t) for t in temperature]
    places = [None if a is None else a.ctypes.data
              for a in (numbers, arrays["pre"], arrays["fine"], arrays.get("avg"))]  # fmt: skip
    return _call(_library.bang_bridge_diagnose, request, *places, *shape, int(wide))


def theory(shift, models, *, classes=3, overlap=None, sigma=0.0, alpha=None, weights=None,
           scale=1.0, best=False, polynomial=False, failure=False, method="auto", samples=0,
           seed=1, threads=0):  # fmt: skip
    """Predicted accuracy out of distribution of models and of their ensembles.

    shift    p, the chance that a spurious feature breaks, 0 to 1
    models   what each learned: (2, 3) or "2,3" for 2 invariant and 3 spurious features, or
             sets of features such as "v0-1,s0-2"
    overlap  (invariant, spurious) features that two models share

    Returns the dict that `bang theory --json` prints.
    """
    request = {
        "shift": _real("shift", shift),
        "models": [_text("models", m) if isinstance(m, str) else ",".join(str(int(n)) for n in m)
                   for m in models],
        "overlap": None if overlap is None else [_whole("overlap", n) for n in overlap],
        "alpha": None if alpha is None else _real("alpha", alpha),
        "weights": None if weights is None else [_real("weights", w) for w in weights],
    }  # fmt: skip
    request.update(classes=_whole("classes", classes), sigma=_real("sigma", sigma),
                   scale=_real("scale", scale), best=bool(best), polynomial=bool(polynomial),
                   failure=bool(failure), method=_text("method", method),
                   samples=_whole("samples", samples, 2**63 - 1), seed=_seed(seed),
                   threads=_whole("threads", threads))  # fmt: skip
    return _call(_library.bang_bridge_theory, request)
