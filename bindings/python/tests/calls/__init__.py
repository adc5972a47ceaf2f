"""One-line calls that Weft and PyTorch answer alike: those of calls.txt and layers.txt, which are
written out, and those of tables.py, one for each name and kind of input. A call is an expression;
what comes before ";;" are statements. `torch` is the library, F its functional, x, y, ... the
tensors of inputs()."""
import io
import math
import pathlib
import re
import warnings

import numpy as np

from calls import tables

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2, "float64": 1e-9}
VALUES_MAX = 64  # so many values of a result are recorded


def inputs(T):
    """The tensors that calls speak of."""
    random = np.random.RandomState(5)

    def normal(*shape):
        return T.tensor(random.standard_normal(shape).astype(np.float32))

    def whole(low, high, *shape):
        return T.tensor(random.randint(low, high, shape).astype(np.int64))

    x, y, sq, b3 = normal(3, 4), normal(3, 4), normal(4, 4), normal(2, 3, 4)
    return {"x": x, "y": y, "sq": sq, "b3": b3, "v": normal(5), "i": whole(0, 3, 3, 4),
            "iv": whole(0, 5, 6), "m": x > 0, "pos": x.abs() + 0.5, "img": normal(2, 4, 8, 8),
            "spd": sq @ sq.t() + T.eye(4), "d": x.double(), "h": x.half(), "u": whole(
                0, 9, 3, 4).to(T.uint8), "e": T.zeros(0, 3), "s": T.tensor(1.5)}


def written():
    """The texts of the two files, in order."""
    return [line for name in ("calls.txt", "layers.txt")
            for line in (HERE / name).read_text().splitlines()
            if line and not line.startswith("#")]


def all_calls():
    """The texts, in order, each once."""
    return list(dict.fromkeys(written() + list(tables.generated())))


def run(T, text):
    """What the call gives, as plain values; an exception is raised as it is."""
    scope = {"torch": T, "F": T.nn.functional, "nn": T.nn, "optim": T.optim, "np": np,
             "math": math, "io": io, **inputs(T)}
    *statements, expression = text.split(";;")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        T.manual_seed(3)
        try:
            for statement in statements:
                exec(statement.strip(), scope)  # noqa: S102  (a text of these files)
            return plain(T, eval(expression.strip(), scope))  # noqa: S307
        finally:
            T.set_default_dtype(T.float32)
            T.set_printoptions(profile="default")


def _number(value):
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return float(f"{value:.7g}") if isinstance(value, float) else value


def plain(T, value):
    """A result as lists and numbers: of a tensor its type, shape and values."""
    if isinstance(value, T.Tensor):
        values = value.detach()
        values = (values.float() if str(values.dtype).endswith("bfloat16") else values).tolist()
        flat = list(np.asarray(values, dtype=object).ravel()) if values != [] else []
        return {"type": str(value.dtype).split(".")[-1], "shape": list(value.shape),
                "values": [_number(each) for each in flat]}
    if isinstance(value, T.dtype):
        return str(value).split(".")[-1]
    if isinstance(value, (tuple, list)):
        return [plain(T, each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(T, each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return {"type": str(value.dtype), "shape": list(value.shape),
                "values": [_number(each) for each in value.ravel().tolist()]}
    if value is None or isinstance(value, (bool, int, float)):
        return _number(value)
    text = re.sub(r"\b(torch|weft)\.", "", str(value))
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def _close(mine, theirs, tolerance):
    if isinstance(mine, str) or isinstance(theirs, str):
        return mine == theirs
    return abs(mine - theirs) <= tolerance * (1 + abs(theirs))


def difference(mine, theirs):
    """None, or what differs between two plain results."""
    if isinstance(mine, dict) and isinstance(theirs, dict) and "values" in theirs:
        for key in ("type", "shape"):
            if mine.get(key) != theirs[key]:
                return f"{key} {mine.get(key)} where PyTorch gives {theirs[key]}"
        tolerance = TOLERANCE.get(theirs["type"], 0)
        scale = max((abs(each) for each in theirs["values"]
                     if isinstance(each, float)), default=0)
        for a, b in zip(mine["values"], theirs["values"]):
            if not _close(a, b, tolerance * (1 + scale)):
                return f"the value {a} where PyTorch gives {b}"
        return None
    if isinstance(mine, list) and isinstance(theirs, list):
        if len(mine) != len(theirs):
            return f"{len(mine)} results where PyTorch gives {len(theirs)}"
        found = [difference(a, b) for a, b in zip(mine, theirs)]
        return next((each for each in found if each is not None), None)
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return difference([mine[key] for key in sorted(mine)], [theirs[key] for key in sorted(
            theirs)]) if sorted(mine) == sorted(theirs) else "other keys"
    if isinstance(mine, float) and isinstance(theirs, (int, float)) and not isinstance(theirs, bool):
        return None if _close(mine, theirs, 2e-5) else f"{mine} where PyTorch gives {theirs}"
    same = type(mine) is type(theirs) and mine == theirs
    return None if same else f"{mine!r} where PyTorch gives {theirs!r}"


def compact(result):
    """What is recorded of a plain result: of many values the first ones."""
    if isinstance(result, dict) and "values" in result:
        return {**result, "values": result["values"][:VALUES_MAX]}
    if isinstance(result, list):
        return [compact(each) for each in result]
    return result
