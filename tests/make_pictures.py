#!/usr/bin/env python3
"""Small pictures in class folders, PNG, with numpy and zlib alone:

    make_pictures.py FOLDER [KEY=VALUE ...]

classes=cat,dog names the folders; a class has a colour and a direction of stripes of its
own, which follow from its name. count pictures each, of width x height; noise (0 to 255),
seed; shift=N turns the colours N/8 round, so that a set can be another domain."""
import os
import struct
import sys
import zlib

import numpy as np


def png(path, pixels):
    """pixels (height, width, 3) u8"""
    height, width, _ = pixels.shape

    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8,
                                                                     2, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def main(folder, *settings):
    o = {"classes": "cat,dog,fox", "count": 4, "width": 16, "height": 16, "noise": 60, "seed": 1,
         "shift": 0}
    for setting in settings:
        key, value = setting.split("=", 1)
        if key not in o:
            sys.exit(f"{key}: unknown")
        o[key] = value
    random = np.random.default_rng(int(o["seed"]))
    y, x = np.mgrid[0:int(o["height"]), 0:int(o["width"])]
    for name in o["classes"].split(","):
        code = zlib.crc32(name.encode())
        hue = (code % 8 / 8 + float(o["shift"]) / 8) * 2 * np.pi
        color = 128 + 90 * np.cos(hue + np.array([0, 2, 4]) * np.pi / 3)
        angle = (code >> 8) % 4 * np.pi / 4
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        for i in range(int(o["count"])):
            stripes = np.sin(0.8 * (np.cos(angle) * x + np.sin(angle) * y) + random.uniform(0, 6))
            pixels = color + 40 * stripes[..., None]
            pixels = pixels + random.normal(0, float(o["noise"]), pixels.shape)
            png(os.path.join(folder, name, f"{i:04}.png"),
                np.clip(np.rint(pixels), 0, 255).astype("u1"))


if __name__ == "__main__":
    main(*sys.argv[1:])
