#!/usr/bin/python3
"""PyTorch's side of the benchmark `average`:
    average_torch.py convert IN.safetensors OUT.pt
    average_torch.py average ALPHA A.pt B.pt OUT.pt
        prints the seconds, once without and once with fsync, then the same in
        seconds of all cores; the time to start Python and PyTorch is not in them
    average_torch.py compare A.pt B.safetensors
        prints how many tensors there are and how many differ in a bit
"""
import json
import os
import sys
import time

import torch

TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = bytearray(file.read())
    header.pop("__metadata__", None)
    return {name: torch.frombuffer(data, dtype=TYPES[t["dtype"]], offset=t["data_offsets"][0],
                                   count=torch.Size(t["shape"]).numel()).reshape(t["shape"])
            for name, t in header.items()}


def convert(source, target):
    # Copies, so that each tensor has a storage of its own.
    torch.save({name: t.clone() for name, t in safetensors(source).items()}, target)


def average(alpha, a, b, target):
    alpha = float(alpha)
    begin = time.perf_counter(), time.process_time()
    a, b = torch.load(a), torch.load(b)
    torch.save({name: (1 - alpha) * x + alpha * b[name] for name, x in a.items()}, target)
    saved = time.perf_counter(), time.process_time()
    with open(target, "rb") as file:
        os.fsync(file.fileno())
    durable = time.perf_counter(), time.process_time()
    print(*(end[i] - begin[i] for i in (0, 1) for end in (saved, durable)))


def compare(a, b):
    a, b = torch.load(a), safetensors(b)
    bits = {4: torch.int32, 2: torch.int16}
    different = sum(
        name not in b or b[name].shape != x.shape or b[name].dtype != x.dtype or not torch.equal(
            b[name].reshape(-1).view(bits[x.element_size()]),
            x.reshape(-1).view(bits[x.element_size()]))
        for name, x in a.items())
    print(len(a), different + len(b.keys() - a.keys()))


{"convert": convert, "average": average, "compare": compare}[sys.argv[1]](*sys.argv[2:])
