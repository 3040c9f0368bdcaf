#!/usr/bin/python3
"""PyTorch's side of the benchmark `train`: trains a 5292-64-64-10 network on
images like those of MultiColorMNIST, batches of 100, squared error, Adam, on
one thread. Says "ready VERSION BLAS", then answers each line "N" with the CPU
and the wall seconds of N steps.
"""
import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
with open("/proc/cpuinfo") as processor:
    if "avx512dq" in processor.read():  # an OpenBLAS older than the processor takes SSE
        os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")
import sys
import time

import numpy
import torch

ROWS, BATCH, WIDTH = 5000, 100, 5292


def images(random):
    """Each class one colour per patch, and a fifth of the digit's pixels."""
    labels = random.integers(0, 10, ROWS)
    cells = random.integers(0, 2, (10, 6, 6, 3)).astype(numpy.float32)[labels]
    pixels = cells.repeat(7, axis=1).repeat(7, axis=2)
    digit = random.random((ROWS, 14, 14, 1), dtype=numpy.float32)
    pixels[:, 14:28, 14:28] = digit * (random.random((ROWS, 14, 14, 1)) < 0.19)
    return pixels.reshape(ROWS, WIDTH), labels


def main():
    torch.set_num_threads(1)
    x, labels = images(numpy.random.default_rng(1))
    x = torch.from_numpy(x)
    y = torch.nn.functional.one_hot(torch.from_numpy(labels), 10).float()
    model = torch.nn.Sequential(torch.nn.Linear(WIDTH, 64), torch.nn.ReLU(),
                                torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = torch.nn.MSELoss()

    def train(steps):
        order = torch.randperm(ROWS)
        for step in range(steps):
            at = step * BATCH % ROWS
            index = order[at:at + BATCH]
            loss = criterion(model(x[index]), y[index])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()

    train(5)
    with open("/proc/self/maps", encoding="ascii") as maps:
        blas = "OpenBLAS" if "openblas" in maps.read() else "reference-BLAS"
    print("ready", torch.__version__, blas, flush=True)
    for line in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        train(int(line))
        print(time.process_time() - cpu, time.perf_counter() - wall, flush=True)


main()
