#!/usr/bin/env python3
"""Reads and writes safetensors by the rules of the format, with numpy alone,
so that what bang writes is checked by code that shares nothing with it:

    read_checkpoint.py list FILE            name, dtype, shape, SHA-256 of the bytes
    read_checkpoint.py metadata FILE        __metadata__ as JSON, keys sorted
    read_checkpoint.py same A B             the same tensors with the same bytes
    read_checkpoint.py linear OUT A WA B WB ...
                                            OUT is the sum of W times the inputs, up
                                            to one rounding to its own type
    read_checkpoint.py cast OUT A           OUT is A in its own types, rounded once

FILE is one file or an index of shards. Exit status 1 and a line on what is
wrong when it is not so."""
import hashlib
import json
import math
import os
import struct
import sys

import numpy as np

BITS = {"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "I16": 16, "U16": 16, "F16": 16,
        "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
        "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E8M0": 8}


def no_twins(pairs):
    out = dict(pairs)
    if len(out) != len(pairs):
        sys.exit("duplicate key in JSON")
    return out


def read_file(path):
    """{name: (dtype, shape, bytes)} and the metadata or None."""
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    if size > 100_000_000 or 8 + size > len(data) or data[8:9] != b"{":
        sys.exit(f"{path}: no safetensors header")
    header = json.loads(data[8:8 + size].decode("utf-8"), object_pairs_hook=no_twins)
    metadata = header.pop("__metadata__", None)
    out, end = {}, 0
    for name, about in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = about["data_offsets"]
        if first != end or (last - first) * 8 != math.prod(about["shape"]) * BITS[about["dtype"]]:
            sys.exit(f"{path}: {name}: a hole, an overlap or a wrong size")
        end = last
        out[name] = (about["dtype"], tuple(about["shape"]),
                     data[8 + size + first:8 + size + last])
    if 8 + size + end != len(data):
        sys.exit(f"{path}: does not end with its last tensor")
    return out, metadata


def read(path):
    if not path.endswith(".index.json"):
        return read_file(path)[0]
    with open(path, encoding="utf-8") as file:
        index = json.load(file, object_pairs_hook=no_twins)
    out, total = {}, 0
    for shard in sorted(set(index["weight_map"].values())):
        tensors = read_file(os.path.join(os.path.dirname(path), shard))[0]
        for name, (dtype, shape, data) in tensors.items():
            if index["weight_map"].get(name) != shard:
                sys.exit(f"{path}: {name}: not where the index says")
            out[name] = (dtype, shape, data)
            total += len(data)
    if set(out) != set(index["weight_map"]):
        sys.exit(f"{path}: the index names tensors that are not there")
    if index.get("metadata", {}).get("total_size") != total:
        sys.exit(f"{path}: total_size is not the sum of the tensors")
    return out


def write(path, tensors, metadata=None, hollow=False, ordered=True):
    """tensors: {name: array, or (dtype, shape, bytes)}; as the reference writer does it:
    larger types first, then by name, or else as they come. hollow: all numbers are 0
    and take no room on the disk."""
    kinds = {"float32": "F32", "float16": "F16", "float64": "F64", "int64": "I64", "int32": "I32",
             "uint8": "U8", "int8": "I8", "bool": "BOOL", "complex64": "C64"}
    order = ["BOOL", "F4", "F6_E2M3", "F6_E3M2", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "I16",
             "U16", "F16", "BF16", "I32", "U32", "F32", "C64", "F64", "I64", "U64"]
    rows = []
    for name, value in tensors.items():
        if isinstance(value, np.ndarray):
            data = b"" if hollow else value.tobytes()
            value = (kinds[str(value.dtype)], value.shape, data)
        rows.append((name, *value))
    if ordered:
        rows.sort(key=lambda row: (-order.index(row[1]), row[0]))
    header, at = {}, 0
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, dtype, shape, _ in rows:
        end = at + math.prod(shape) * BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(row[3] for row in rows))
        file.truncate(8 + len(text) + at)


def floats(dtype, data):
    """As float64; every one of these types fits."""
    if dtype == "BF16":
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").astype("f8")
    return np.frombuffer(data, {"F16": "<f2", "F32": "<f4", "F64": "<f8"}[dtype]).astype("f8")


def rounded(dtype, values):
    """float32 values to the bytes of dtype, to nearest, ties to even."""
    with np.errstate(over="ignore"):
        if dtype != "BF16":
            return values.astype({"F16": "<f2", "F32": "<f4", "F64": "<f8"}[dtype]).tobytes()
    bits = values.astype("<f4").view("<u4").astype("u8")
    up = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    up = np.where(np.isnan(values), bits >> 16 | 0x40, up)
    return up.astype("<u2").tobytes()


def same(a, b):
    a, b = read(a), read(b)
    for name in sorted(set(a) ^ set(b)):
        sys.exit(f"{name}: only in the {'first' if name in a else 'second'}")
    for name in sorted(a):
        if a[name] != b[name]:
            sys.exit(f"{name}: differs: {a[name][:2]} and {b[name][:2]}")
    print(f"{len(a)} tensors, the same")


def linear(out, *terms):
    out = read(out)
    inputs = [(read(terms[i]), float(terms[i + 1])) for i in range(0, len(terms), 2)]
    for name, (dtype, shape, data) in out.items():
        if dtype not in ("F16", "BF16", "F32", "F64"):
            if inputs[0][0][name] != (dtype, shape, data):
                sys.exit(f"{name}: not as in the first input")
            continue
        exact = sum(w * floats(t[name][0], t[name][2]) for t, w in inputs)
        scale = sum(abs(w) * np.abs(floats(t[name][0], t[name][2])) for t, w in inputs)
        step = {"F16": 2.0**-11, "BF16": 2.0**-8, "F32": 2.0**-24, "F64": 2.0**-53}[dtype]
        least = {"F16": 2.0**-25, "BF16": 2.0**-134, "F32": 2.0**-150, "F64": 0}[dtype]
        work = len(inputs) * (2.0**-24 if dtype != "F64" else 2.0**-53)
        if np.any(np.abs(floats(dtype, data) - exact) > np.abs(exact) * step + scale * work * 1.01
                  + least):
            sys.exit(f"{name}: is not the combination")
    print(f"{len(out)} tensors, combined as said")


def cast(out, source):
    out, source = read(out), read(source)
    if set(out) != set(source):
        sys.exit("the names differ")
    for name, (dtype, shape, data) in source.items():
        if out[name][1] != shape:
            sys.exit(f"{name}: the shape differs")
        want = data
        if out[name][0] != dtype:
            want = rounded(out[name][0], floats(dtype, data).astype("f4"))
        if out[name][2] != want:
            sys.exit(f"{name}: not what rounding {dtype} to {out[name][0]} gives")
    print(f"{len(out)} tensors, rounded once")


def main(what, *files):
    if what == "list":
        for name, (dtype, shape, data) in sorted(read(files[0]).items()):
            print(name, dtype, list(shape), hashlib.sha256(data).hexdigest())
    elif what == "metadata":
        print(json.dumps(read_file(files[0])[1], sort_keys=True))
    else:
        {"same": same, "linear": linear, "cast": cast}[what](*files)


if __name__ == "__main__":
    main(*sys.argv[1:])
