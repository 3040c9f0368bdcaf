#!/usr/bin/python3
"""PyTorch's side of the benchmark `vit`.

    vit_torch.py train|predict IMAGE PATCH CHANNELS WIDTH DEPTH HEADS HIDDEN CLASSES BATCH THREADS

A vision transformer as timm writes it (pre-norm blocks, exact GELU, the class token
through a last norm to a linear head). A training step is forward, cross-entropy,
backward, clipping at norm 1 and AdamW; predicting is forward under inference_mode, by
this network or by one of nn.TransformerEncoder with its fused layers, whichever is
faster here.
Says "ready VERSION BLAS", then answers each line "N" with the wall and the CPU
seconds of N steps and the process's peak memory in bytes.
"""
import os
import sys

threads = sys.argv[-1]
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = threads
with open("/proc/cpuinfo") as processor:
    if "avx512dq" in processor.read():  # an OpenBLAS older than the processor takes SSE
        os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")
import time

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.scale = (width // heads) ** -0.5
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        images, tokens, width = x.shape
        qkv = self.qkv(x).reshape(images, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        weights = ((q @ k.transpose(-2, -1)) * self.scale).softmax(dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(images, tokens, width))


class Block(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, image, patch, channels, width, depth, heads, hidden, classes, fused=False):
        super().__init__()
        self.patch = nn.Conv2d(channels, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (image // patch) ** 2 + 1, width) * 0.02)
        if fused:
            layer = nn.TransformerEncoderLayer(width, heads, hidden, 0.0, "gelu", 1e-6,
                                               batch_first=True, norm_first=True)
            self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        else:
            self.blocks = nn.Sequential(*[Block(width, heads, hidden) for _ in range(depth)])
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)

    def forward(self, pixels):
        x = self.patch(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], dim=1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])


def peak():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def trainer(model, pixels, labels):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1)
    criterion = nn.CrossEntropyLoss()

    def step():
        loss = criterion(model(pixels), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    step()
    return step


def predictor(models, pixels):
    def step(model):
        begin = time.perf_counter()
        with torch.inference_mode():
            model(pixels)
        return time.perf_counter() - begin

    for model in models:
        model.eval()
        step(model)
    best = min(models, key=lambda model: min(step(model), step(model)))
    models.clear()
    step(best)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as forget:
        forget.write("5")  # the peak of memory so far
    return lambda: step(best)


def main():
    sizes = [int(word) for word in sys.argv[2:10]]
    image, _, channels, _, _, _, _, classes = sizes
    batch = int(sys.argv[10])
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    pixels = torch.randn(batch, channels, image, image)
    if sys.argv[1] == "train":
        step = trainer(VisionTransformer(*sizes), pixels, torch.randint(classes, (batch,)))
    else:
        models = [VisionTransformer(*sizes, fused) for fused in (False, True)]
        step = predictor(models, pixels)
    with open("/proc/self/maps", encoding="ascii") as maps:
        blas = "OpenBLAS" if "openblas" in maps.read() else "reference-BLAS"
    print("ready", torch.__version__, blas, flush=True)
    for line in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(int(line)):
            step()
        print(time.perf_counter() - wall, time.process_time() - cpu, peak(), flush=True)


main()
