#!/usr/bin/env python3
"""Draws and writes the small data sets of this folder: photos of shapes, a table of flats, a story.

usage: examples/data/make_examples.py [--out DIR] [--photos N] [--side PIXELS] [--rows N]
                                      [--letters N] [--seed N]
The same flags give the same bytes. Python's standard library is enough.
"""
import argparse
import pathlib
import random
import struct
import zlib

SHAPES = ("circle", "square", "triangle")


def png(side, pixels):
    """The file of a picture of side x side pixels, 3 bytes each."""
    def chunk(kind, content):
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + pixels[y * side * 3:(y + 1) * side * 3] for y in range(side))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def is_inside(shape, x, y):
    """Whether (x, y) is in the shape of about radius 1 around (0, 0)."""
    if shape == "circle":
        return x * x + y * y <= 1
    if shape == "square":
        return max(abs(x), abs(y)) <= 0.85
    return -0.7 <= y <= 1 - 2 * abs(x)  # base below, tip above; y points up


def color_apart(rng, other):
    """A colour that is well told apart from `other`."""
    while True:
        color = [rng.randrange(30, 226) for _ in range(3)]
        if sum(abs(a - b) for a, b in zip(color, other)) > 180:
            return color


def photo(rng, shape, side):
    """A filled shape somewhere on a background that grows darker to one side."""
    background = [rng.randrange(30, 226) for _ in range(3)]
    color = color_apart(rng, background)
    radius = side * rng.uniform(0.24, 0.38)
    middle_x = rng.uniform(radius, side - radius)
    middle_y = rng.uniform(radius, side - radius)
    slope = rng.uniform(-0.3, 0.3)
    pixels = bytearray()
    for y in range(side):
        shade = 1 + slope * (y / side - 0.5)
        for x in range(side):
            inside = is_inside(shape, (x - middle_x) / radius, (middle_y - y) / radius)
            pixels += bytes(min(255, max(0, round(value * shade)))
                            for value in (color if inside else background))
    return png(side, bytes(pixels))


def write_photos(folder, count, side, seed):
    """`count` photos in a folder for each shape."""
    rng = random.Random(seed)
    for index in range(count):
        shape = SHAPES[index % len(SHAPES)]
        path = folder / shape / f"{shape}-{index // len(SHAPES):04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(photo(rng, shape, side))


DISTRICTS = {"Harbour": 180, "Mill Quarter": 90, "Old Town": 260, "Station": 20}
HEATING = {"gas": 0, "heat pump": 45, "oil": -30}


def with_comma(value, digits):
    return f"{value:.{digits}f}".replace(".", ",")


def table(rows, seed):
    """What a flat costs: words, decimal commas, and a tenth of all values missing."""
    rng = random.Random(seed)
    lines = ["district;heating;area;age;rent"]
    for _ in range(rows):
        district, heating = rng.choice(sorted(DISTRICTS)), rng.choice(sorted(HEATING))
        area, age = rng.uniform(25, 140), rng.randrange(0, 100)
        rent = 150 + 9 * area + DISTRICTS[district] + HEATING[heating] - 0.8 * age + rng.gauss(0, 10)
        shown_heating = "" if rng.random() < 0.25 else heating
        shown_age = "" if rng.random() < 0.25 else str(age)
        lines.append(";".join([district, shown_heating, with_comma(area, 1), shown_age,
                               with_comma(rent, 2)]))
    return "\n".join(lines) + "\n"


WHO = ("the miller", "the old captain", "a girl from the harbour", "the clockmaker", "my neighbour",
       "the baker's son", "a tired postman", "the gardener")
DID = ("walked to", "looked for", "remembered", "painted", "wrote about", "came back from",
       "dreamed of", "told us about")
WHAT = ("the river", "the empty market", "a lamp in the window", "the last boat", "the winter garden",
        "an unopened letter", "the bridge of stone", "the bell above the door")
WHEN = ("in the morning", "when the rain had stopped", "before anybody was awake", "every evening",
        "on the first day of spring", "while the bread was still warm")
THEN = ("Nobody asked why.", "It was quiet after that.", "We laughed, and then we did not.",
        "The dog had known it all along.", "That is how the story is told here.")


def story(letters, seed):
    """Small sentences about a town, in paragraphs; about so many characters."""
    rng = random.Random(seed)
    text = []
    length = 0
    while length < letters:
        sentences = []
        for _ in range(rng.randrange(3, 7)):
            who = rng.choice(WHO)
            sentence = f"{who} {rng.choice(DID)} {rng.choice(WHAT)} {rng.choice(WHEN)}."
            sentences.append(sentence[0].upper() + sentence[1:])
        if rng.random() < 0.5:
            sentences.append(rng.choice(THEN))
        text.append(" ".join(sentences) + "\n\n")
        length += len(text[-1])
    return "".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--photos", type=int, default=45)
    parser.add_argument("--side", type=int, default=40)
    parser.add_argument("--rows", type=int, default=240)
    parser.add_argument("--letters", type=int, default=24000)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    flags.out.mkdir(parents=True, exist_ok=True)
    write_photos(flags.out / "shapes", flags.photos, flags.side, flags.seed)
    (flags.out / "flats.csv").write_text(table(flags.rows, flags.seed))
    (flags.out / "story.txt").write_text(story(flags.letters, flags.seed))


if __name__ == "__main__":
    main()
