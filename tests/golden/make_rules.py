#!/usr/bin/env python3
"""Writes rules.txt with PyTorch: the types that operands give together, and values at the edges.

    types OP CODES            a letter for each pair of types, each with no axis and with one
    numbers CASE CODES        a letter for each type beside a plain number
    floats, whole CASE TYPE   the type and the values of a result

Letters: f f32, d f64, l i64, u u8, b bf16, h f16, c i8, i i32, s i16, ? bool, - refused.
usage: make_rules.py [DIRECTORY]     (default: the folder of this script)
"""
import math
import pathlib
import sys

import torch
import torch.nn.functional as F

inf, nan = math.inf, math.nan
TYPES = {"f": torch.float32, "d": torch.float64, "l": torch.int64, "u": torch.uint8,
         "b": torch.bfloat16, "h": torch.float16, "c": torch.int8, "i": torch.int32,
         "s": torch.int16, "?": torch.bool}
OURS = "fdlubhci?"
LETTERS = {dtype: letter for letter, dtype in TYPES.items()}

PAIRS = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow,
         "remainder": torch.remainder, "floor_divide": torch.floor_divide,
         "maximum": torch.maximum, "minimum": torch.minimum, "atan2": torch.atan2,
         "where": lambda a, b: torch.where(torch.tensor([True, False]), a, b)}
NUMBERS = {"add_2": lambda x: x + 2, "add_half": lambda x: x + 0.5, "mul_half": lambda x: x * 0.5,
           "div_1": lambda x: x / 1, "div_half": lambda x: x / 0.5, "divide_2": lambda x: 2 / x,
           "add_inf": lambda x: x + inf, "mul_nan": lambda x: x * nan, "pow_2": lambda x: x ** 2,
           "pow_half": lambda x: x ** 0.5, "clamp_whole": lambda x: x.clamp(1, 2),
           "clamp_half": lambda x: x.clamp(0.5, 1.5), "square": lambda x: x.square(),
           "relu": lambda x: x.relu(), "logsumexp": lambda x: x.logsumexp(0)}

A = [7, -7, 7, -7, 5.5, -5.5, 0, inf, nan, 1, -1, 0, -0.0]
B = [3, 3, -3, -3, 2, 2, 5, 2, 2, inf, inf, 0, 3]
ENDS = [-inf, inf, nan, 0, 1, -1]
MIXED = [2, nan, 1, inf, 2, -inf, nan, 1, 0]
FLOATS = {
    "remainder": lambda t: torch.remainder(t(A), t(B)),
    "floor_divide": lambda t: torch.floor_divide(t(A), t(B)),
    "maximum": lambda t: torch.maximum(t(A), t(B)), "minimum": lambda t: torch.minimum(t(A), t(B)),
    "eq": lambda t: t(A) == t(B), "ne": lambda t: t(A) != t(B), "lt": lambda t: t(A) < t(B),
    "ge": lambda t: t(A) >= t(B), "relu": lambda t: t(A).relu(), "abs": lambda t: t(A).abs(),
    "clamp": lambda t: t(A).clamp(-2, 2), "sigmoid": lambda t: t(ENDS).sigmoid(),
    "softplus": lambda t: F.softplus(t(ENDS)), "silu": lambda t: F.silu(t(ENDS)),
    "tanh": lambda t: t(ENDS).tanh(), "exp": lambda t: t(ENDS).exp(),
    "log": lambda t: t(ENDS).log(), "sqrt": lambda t: t(ENDS).sqrt(),
    "round": lambda t: t([0.5, 1.5, 2.5, -0.5, -1.5, nan, inf]).round(),
    "softmax": lambda t: t([-inf, 0, 0, -inf]).softmax(0),
    "softmax_of_nothing": lambda t: t([-inf, -inf]).softmax(0),
    "logsumexp": lambda t: t([-inf, -inf]).logsumexp(0),
    "max": lambda t: t(MIXED).max(), "argmax": lambda t: t(MIXED).argmax(),
    "argmin": lambda t: t(MIXED).argmin(), "argmax_ties": lambda t: t([1, 3, 3, 2]).argmax(),
    "sort": lambda t: t(MIXED).sort(stable=True)[0],
    "sort_places": lambda t: t(MIXED).sort(stable=True)[1],
    "sort_down": lambda t: torch.sort(t(MIXED), stable=True, descending=True)[0],
    "sort_down_places": lambda t: torch.sort(t(MIXED), stable=True, descending=True)[1],
    "topk": lambda t: t(MIXED).topk(4)[0], "kthvalue": lambda t: t(MIXED).kthvalue(3)[0],
    "median": lambda t: t(MIXED).median(0)[0], "cumsum": lambda t: t(MIXED).cumsum(0),
    "divided": lambda t: t([49, 9, 1, 10]) / 49,
}
C = {"u": [7, 7, 0, 255], "": [7, -7, 7, -7, 0, -128]}
D = {"u": [3, 2, 5, 16], "": [3, 3, -3, -3, -5, -1]}
WHOLE = {
    "quotient": lambda a, b: a / b, "floor_divide": lambda a, b: a // b,
    "remainder": lambda a, b: a % b, "power": lambda a, b: a.pow(b), "cube": lambda a, b: a ** 3,
    "product": lambda a, b: a * a * a, "negative": lambda a, b: -a, "less_2": lambda a, b: a - 2,
    "from_2": lambda a, b: 2 - a, "times_-1": lambda a, b: a * -1, "add_1000": lambda a, b: a + 1000,
    "sum": lambda a, b: a.sum(), "prod": lambda a, b: a.prod(), "cumsum": lambda a, b: a.cumsum(0),
    "clamp_half": lambda a, b: a.clamp(-1.5, 5.5), "relu": lambda a, b: a.relu(),
}


def letter(function, *operands):
    try:
        return LETTERS[function(*operands).dtype]
    except (RuntimeError, IndexError):
        return "-"


def text(result):
    values = result.double().flatten().tolist() if result.dtype.is_floating_point \
        else result.long().flatten().tolist()
    return LETTERS[result.dtype] + " " + " ".join(
        "nan" if value != value else "%.17g" % value for value in values)


def lines():
    def one(code, axes):
        return torch.ones([2] * axes, dtype=torch.float64).to(TYPES[code])

    for name, function in PAIRS.items():
        codes = [letter(function, one(a, m), one(b, n))
                 for a in OURS for b in OURS for m in (0, 1) for n in (0, 1)]
        yield f"types {name} {''.join(codes)}"
    for name, function in NUMBERS.items():
        yield f"numbers {name} {''.join(letter(function, one(code, 1)) for code in OURS)}"
    for code in "fd":
        for name, function in FLOATS.items():
            result = function(lambda v: torch.tensor(v, dtype=torch.float64).to(TYPES[code]))
            yield f"floats {name} {code} {text(result)}"
    for code in "cuil":
        a, b = (torch.tensor(v.get(code, v[""])).to(TYPES[code]) for v in (C, D))
        for name, function in WHOLE.items():
            yield f"whole {name} {code} {text(function(a, b))}"


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    (folder / "rules.txt").write_text("\n".join(lines()) + "\n")


if __name__ == "__main__":
    main()
