"""Wrong uses of the package, and what its errors say: the rows of the text files beside this one.

A row is `CALL => CLASS: word & word`. CALL is as in calls/: statements before ";;", then an
expression; torch is the library, F its functional, data its utils.data, `tmp` a folder, `g` a
parameter of three values, x, y, ... the tensors of calls.inputs(), transforms and TF those of images
and their functions, `picture` a tensor [3, 8, 9] in [0, 1] and `octets` one of uint8. The error is a CLASS, and its text
has all the words: the argument or the value that is wrong, and what to do instead."""
import importlib
import io
import math
import os
import pathlib
import re

import numpy as np

import calls

HERE = pathlib.Path(__file__).resolve().parent
FILES = ("tensors.txt", "calls.txt", "training.txt", "learning.txt", "images.txt")
# What no message says: pybind11's list of overloads, names of C++, addresses.
FORBIDDEN = (r"incompatible function arguments", r"\bstd::", r"\b[fiu](8|16|32|64)\b", r"\bbf16\b",
             r"0x[0-9a-f]{6}", r"\bpybind11\b", r"\bkeep_graph\b")


class Row:
    """One wrong use."""

    def __init__(self, line):
        self.call, _, wanted = line.rpartition(" => ")
        self.kind, _, words = wanted.partition(":")
        self.words = [word.strip() for word in words.split(" & ") if word.strip()]


def rows():
    """All rows, in order."""
    return [Row(line) for name in FILES for line in (HERE / name).read_text().splitlines()
            if line and not line.startswith("#")]


def scope(T, folder):
    """The names that a call speaks of."""
    images = "torchvision" if T.__name__ == "torch" else f"{T.__name__}.vision"
    return {"torch": T, "F": T.nn.functional, "nn": T.nn, "optim": T.optim, "np": np, "math": math,
            "io": io, "os": os, "data": T.utils.data, "tmp": folder,
            "g": T.ones(3, requires_grad=True), "picture": T.ones(3, 8, 9) * 0.5,
            "octets": T.ones(3, 8, 9, dtype=T.uint8),
            "transforms": importlib.import_module(f"{images}.transforms"),
            "TF": importlib.import_module(f"{images}.transforms.functional"), **calls.inputs(T)}


def run(T, call, folder):
    """What the call returns, if it does."""
    names = scope(T, folder)
    *statements, expression = call.split(";;")
    for statement in statements:
        exec(statement.strip(), names)  # noqa: S102  (a text of these files)
    return eval(expression.strip(), names)  # noqa: S307


def has_word(text, word):
    """Whether the word stands in the text, and not as a part of a longer word or number."""
    before = r"(?<![\d.])" if word[0].isdigit() else r"(?<!\w)" if word[0].isalnum() else ""
    after = r"0*(?!\w)" if "." in word else r"(?!\w)"  # 1.5 may be written as 1.500000
    return re.search(before + re.escape(word) + (after if word[-1].isalnum() else ""),
                     text) is not None


def fault(row, outcome):
    """None, or what is wrong with the outcome of a row: a dict of `error`, the names of its class
    and of those above, and `text`, or of `returned`."""
    if "returned" in outcome:
        return f"returned {outcome['returned']}"
    shown = f"{outcome['error'][0]}: {outcome['text']}"
    if row.kind not in outcome["error"]:
        return f"expected {row.kind}, got {shown}"
    missing = [word for word in row.words if not has_word(outcome["text"], word)]
    if missing:
        return f"the text misses {missing}: {shown}"
    unwanted = [each for each in FORBIDDEN if re.search(each, outcome["text"])]
    return f"the text has {unwanted}: {shown}" if unwanted else None
