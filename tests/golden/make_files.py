#!/usr/bin/env python3
"""Writes tests/golden/files: small .npy, .npz, PNG and JPEG files and what they hold.

usage: tests/golden/make_files.py
NumPy writes the arrays. The images are built here byte by byte, after the PNG and JPEG standards,
so that the values are known without any decoder. expected.json: for an array its shape and values,
row by row; for an image its height, width and its red, green and blue planes.
"""
import json
import pathlib
import struct
import zlib

import numpy as np

FILES = pathlib.Path(__file__).resolve().parent / "files"
EXPECTED = {}


def keep_array(name, array):
    EXPECTED[name] = {"shape": list(array.shape), "values": array.astype(np.float64).ravel().tolist()}


def write_array(name, array, **options):
    with open(FILES / name, "wb") as file:
        np.lib.format.write_array(file, array, **options)
    keep_array(name, array)


def arrays():
    rng = np.random.default_rng(1)
    write_array("f4.npy", rng.standard_normal((3, 4)).astype("<f4"))
    write_array("f8_big.npy", rng.standard_normal(5).astype(">f8"))
    write_array("f4_fortran.npy", np.asfortranarray(rng.standard_normal((2, 3, 4)).astype("<f4")))
    write_array("f2.npy", np.array([0.5, -2, 65504, 6e-8], "<f2"))
    write_array("i8_v2.npy", np.array([[-2**62, 2**62], [1, -1]], "<i8"), version=(2, 0))
    write_array("i4_big_v3.npy", np.array([-2**31, 7, 2**31 - 1], ">i4"), version=(3, 0))
    write_array("i2.npy", np.array([-32768, -1, 32767], "<i2"))
    write_array("i1.npy", np.array([-128, -1, 127], "i1"))
    write_array("u1.npy", np.arange(256, dtype="u1").reshape(16, 16))
    write_array("u2_big.npy", np.array([0, 1, 65535], ">u2"))
    write_array("u4.npy", np.array([0, 2**32 - 1], "<u4"))
    write_array("bool.npy", np.array([True, False, True]))
    write_array("scalar.npy", np.array(2.5))
    write_array("empty.npy", np.zeros((0, 3), "<f4"))
    write_array("strided.npy", np.arange(24, dtype="<f8").reshape(4, 6)[::2, ::-3])
    parts = {"weights": rng.standard_normal((2, 2)).astype("<f4"), "ids": np.arange(300)}
    np.savez(FILES / "stored.npz", **parts)
    np.savez_compressed(FILES / "deflated.npz", **parts)
    for name, array in parts.items():
        keep_array("npz:" + name, array)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def filtered(rows, step):
    """One filter type a row, all five in turn (PNG, 9.2)."""
    result, above = b"", bytes(len(rows[0]))
    for y, row in enumerate(rows):
        kind = y % 5
        line = bytearray()
        for x, value in enumerate(row):
            left = row[x - step] if x >= step else 0
            up, corner = above[x], above[x - step] if x >= step else 0
            guess = left + up - corner
            distances = [(abs(guess - left), 0, left), (abs(guess - up), 1, up),
                         (abs(guess - corner), 2, corner)]
            line.append((value - [0, left, up, (left + up) // 2, min(distances)[2]][kind]) % 256)
        result += bytes([kind]) + bytes(line)
        above = row
    return result


def write_png(name, height, width, depth, color, rows, step, extra=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    data = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra
            + chunk(b"IDAT", zlib.compress(filtered(rows, step))) + chunk(b"IEND", b""))
    (FILES / name).write_bytes(data)


def keep_image(name, pixels):
    """pixels [height, width, 3]."""
    EXPECTED[name] = {"height": pixels.shape[0], "width": pixels.shape[1],
                      "planes": pixels.transpose(2, 0, 1).ravel().tolist()}


def images():
    rng = np.random.default_rng(2)
    rgb = rng.integers(0, 256, (7, 5, 3))
    keep_image("rgb.png", rgb)
    write_png("rgb.png", 7, 5, 8, 2, [bytes(row.ravel().tolist()) for row in rgb], 3)
    alpha = np.concatenate([rgb, rng.integers(1, 256, (7, 5, 1))], axis=2)
    cover = alpha[:, :, 3:]
    keep_image("rgba.png", (rgb * cover + 255 * (255 - cover) + 127) // 255)  # over white
    write_png("rgba.png", 7, 5, 8, 6, [bytes(row.ravel().tolist()) for row in alpha], 4)
    grey = rng.integers(0, 256, (6, 9))
    keep_image("grey.png", np.repeat(grey[:, :, None], 3, axis=2))
    write_png("grey.png", 6, 9, 8, 0, [bytes(row.tolist()) for row in grey], 1)
    palette = rng.integers(0, 256, (16, 3))
    index = rng.integers(0, 16, (4, 6))
    keep_image("palette.png", palette[index])
    packed = [bytes((int(row[x]) << 4) | int(row[x + 1]) for x in range(0, 6, 2)) for row in index]
    write_png("palette.png", 4, 6, 4, 3, packed, 1,
              chunk(b"PLTE", bytes(palette.ravel().tolist())))

    # 16 bits a value: the nearest of 256 even steps, whatever the brightness.
    for name, color, shape in (("rgb16.png", 2, (5, 4, 3)), ("grey16.png", 0, (4, 7, 1))):
        deep = rng.integers(0, 65536, shape)
        keep_image(name, np.broadcast_to((deep + 128) // 257, shape[:2] + (3,)))
        write_png(name, *shape[:2], 16, color, [row.astype(">u2").tobytes() for row in deep],
                  2 * shape[2])


class Bits:
    def __init__(self):
        self.text = ""

    def put(self, value, count):
        self.text += format(value, f"0{count}b") if count else ""

    def data(self):
        text = self.text + "1" * (-len(self.text) % 8)
        raw = bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))
        return raw.replace(b"\xff", b"\xff\x00")


def segment(marker, data):
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def write_jpeg(name, blocks):
    """Baseline JPEG of 8x8 blocks that each have one value: blocks [rows][columns][components].

    Quantiser 8 for the first coefficient, so a difference of 1 there is a difference of 1 in the
    values (they are 128 + coefficient * 8 / 8). First-coefficient codes: 4 bits for each of 12
    sizes; other coefficients: one code, of one bit, "end of block".
    """
    rows, columns, components = len(blocks), len(blocks[0]), len(blocks[0][0])
    frame = struct.pack(">BHHB", 8, rows * 8, columns * 8, components)
    scan = bytes([components])
    for i in range(components):
        frame += bytes([i + 1, 0x11, 0])
        scan += bytes([i + 1, 0])
    bits, last = Bits(), [0] * components
    for row in blocks:
        for block in row:
            for i, value in enumerate(block):
                difference = (value - 128) - last[i]
                last[i] = value - 128
                size = abs(difference).bit_length()
                bits.put(size, 4)
                bits.put(difference if difference >= 0 else difference + (1 << size) - 1, size)
                bits.put(0, 1)
    data = (b"\xff\xd8" + segment(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0")
            + segment(0xDB, bytes([0]) + bytes([8] * 64)) + segment(0xC0, frame)
            + segment(0xC4, bytes([0x00, 0, 0, 0, 12] + [0] * 12 + list(range(12))))
            + segment(0xC4, bytes([0x10, 1] + [0] * 15 + [0]))
            + segment(0xDA, scan + bytes([0, 63, 0])) + bits.data() + b"\xff\xd9")
    (FILES / name).write_bytes(data)


def jpegs():
    grey = [[[10], [250], [128]], [[0], [77], [200]]]
    write_jpeg("grey.jpg", grey)
    pixels = np.kron(np.array(grey)[:, :, 0], np.ones((8, 8), int))
    keep_image("grey.jpg", np.repeat(pixels[:, :, None], 3, axis=2))
    color = [[[100, 128, 128], [150, 90, 160]], [[60, 140, 120], [200, 128, 100]]]
    write_jpeg("color.jpg", color)
    y, cb, cr = (np.array(color)[:, :, i].astype(float) for i in range(3))
    rgb = np.stack([y + 1.402 * (cr - 128), y - 0.344136 * (cb - 128) - 0.714136 * (cr - 128),
                    y + 1.772 * (cb - 128)], axis=2)
    rgb = np.clip(np.round(rgb), 0, 255).astype(int)
    keep_image("color.jpg", np.kron(rgb, np.ones((8, 8, 1), int)))


def main():
    FILES.mkdir(exist_ok=True)
    arrays()
    images()
    jpegs()
    (FILES / "expected.json").write_text(json.dumps(EXPECTED) + "\n")


if __name__ == "__main__":
    main()
