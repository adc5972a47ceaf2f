"""Types of elements: what becomes of two, of one and a number, and of sums and means."""
import numpy as np

from cases import Case

TYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool")
SIGNS = ("+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^")
NUMBERS = (2, -1, 0, 1.5, True, 300, 2**40)
OF_TWO = {
    "maximum": lambda T, a, b: T.maximum(a, b), "where": lambda T, a, b: T.where(a > b, a, b),
    "cat": lambda T, a, b: T.cat([a.flatten(), b.flatten()]), "atan2": lambda T, a, b:
    T.atan2(a, b), "add_": lambda T, a, b: a.clone().add_(b), "mul_": lambda T, a, b:
    a.clone().mul_(b), "copy_": lambda T, a, b: a.clone().copy_(b), "type_as": lambda T, a, b:
    a.type_as(b), "isclose": lambda T, a, b: T.isclose(a, b), "matmul": lambda T, a, b:
    a.flatten() @ b.flatten(), "stack": lambda T, a, b: T.stack([a, b])}
OF_ONE = {
    name: (lambda name: lambda T, a, k: getattr(a, name)())(name) for name in (
        "sum", "mean", "prod", "max", "min", "argmax", "any", "all", "abs", "neg", "exp", "sqrt",
        "sin", "sigmoid", "floor", "round", "sign", "square", "reciprocal", "log", "tanh", "relu",
        "isnan", "isfinite", "count_nonzero", "std", "var", "norm", "long", "bool", "half",
        "float", "double", "int", "amax", "median", "nonzero", "trunc")}
OF_ONE.update({
    "cumsum": lambda T, a, k: a.cumsum(0), "cumprod": lambda T, a, k: a.cumprod(0),
    "sum over": lambda T, a, k: a.sum(0), "softmax": lambda T, a, k: a.softmax(0),
    "invert": lambda T, a, k: ~a, "clamp": lambda T, a, k: a.clamp(0, 2),
    "clamp to floats": lambda T, a, k: a.clamp(-0.5, 1.5), "to": lambda T, a, k:
    a.to(getattr(T, k)), "masked_fill": lambda T, a, k: a.masked_fill(a > 0, 1),
    "full_like": lambda T, a, k: T.full_like(a, 1), "unique": lambda T, a, k: T.unique(a),
    "fill_": lambda T, a, k: a.clone().fill_(1), "sort": lambda T, a, k: a.sort(0)[0]})


def _array(draws, name, shape, least=-12):
    if name == "bool":
        return draws.uniform(size=shape) < 0.5
    if name == "uint8":
        return draws.randint(0, 9, shape).astype(np.uint8)
    if name.startswith("int"):
        return draws.randint(-6, 7, shape).astype(name)
    return (draws.randint(least, 13, shape) / 4).astype(
        np.float32 if name == "bfloat16" else name)


def _make(T, array, name):
    x = T.tensor(array)
    return x.to(T.bfloat16) if name == "bfloat16" else x


def _pair(draws):
    one, other = draws.pick(TYPES), draws.pick(TYPES)
    shape = draws.pick([(), (4,), (2, 3)])
    sign = draws.pick(SIGNS + tuple(OF_TWO))
    # What a negative float is as an unsigned number is nobody's promise.
    least = 0 if sign in ("type_as", "copy_") else -12
    a = _array(draws, one, shape, least)
    b = _array(draws, other, shape if draws.chance(0.6) else (), least)
    whole = not any(np.asarray(each).dtype.kind == "f" for each in (a, b))
    if whole and (sign in ("//", "%") and not np.all(b) or sign == "**" and (b < 0).any()):
        return None  # a division of whole numbers by 0: PyTorch raises, some of it ends programs

    def call(T, F):
        x, y = _make(T, np.asarray(a), one), _make(T, np.asarray(b), other)
        if sign in OF_TWO:
            return OF_TWO[sign](T, x, y)
        return eval(f"x {sign} y", {"x": x, "y": y})  # noqa: S307  (a sign of this file)

    return Case(f"{one}{np.shape(a)} {sign} {other}{np.shape(b)}: {np.asarray(a).tolist()}, "
                f"{np.asarray(b).tolist()}", [], call)


def _number(draws):
    name, sign, number = draws.pick(TYPES), draws.pick(SIGNS[:13]), draws.pick(NUMBERS)
    a, left = _array(draws, name, draws.pick([(), (4,)])), draws.chance(0.4)
    by = a if left else np.asarray(number)
    whole = np.asarray(a).dtype.kind != "f" and not isinstance(number, float)
    if whole and (sign in ("//", "%") and not np.all(by) or sign == "**" and (by < 0).any()):
        return None
    text = f"{number} {sign} x" if left else f"x {sign} {number}"

    def call(T, F):
        return eval(text, {"x": _make(T, np.asarray(a), name)})  # noqa: S307

    return Case(f"{name}: {text}, x = {np.asarray(a).tolist()}", [], call)


def _one(draws):
    name, what, to = draws.pick(TYPES), draws.pick(sorted(OF_ONE)), draws.pick(TYPES)
    a = _array(draws, name, draws.pick([(4,), (3, 2), (0,), ()]), 0 if what == "to" else -12)
    return Case(f"{what} of {name}: {np.asarray(a).tolist()} {to if what == 'to' else ''}", [],
                lambda T, F: OF_ONE[what](T, _make(T, np.asarray(a), name), to))


def _made(draws):
    """Tensors of Python's numbers and of ranges."""
    data = draws.pick([[1, 2], [1, 2.5], [True, False], [True, 2], [[1], [2]], 3, 2.5, True, [],
                       [[1.0, 2], [3, 4]], [2**40, 1]])
    ends = draws.pick([(5,), (1, 6), (0, 1, 0.25), (5, 0, -2), (0.0, 3.0), (2, 2)])
    fill, to = draws.pick([1, 2.5, True]), draws.pick(TYPES)
    return draws.pick([
        Case(f"tensor({data})", [], lambda T, F: T.tensor(data)),
        Case(f"tensor({data}, {to})", [], lambda T, F: T.tensor(data, dtype=getattr(T, to))),
        Case(f"arange{ends}", [], lambda T, F: T.arange(*ends)),
        Case(f"full({fill})", [], lambda T, F: T.full((2,), fill)),
        Case(f"full({fill}, {to})", [], lambda T, F: T.full((2,), fill, dtype=getattr(T, to))),
        Case(f"linspace({fill})", [], lambda T, F: T.linspace(0, 2.5, 6)),
        Case(f"eye({to})", [], lambda T, F: T.eye(2, 3, dtype=getattr(T, to)))])


def case(draws):
    return draws.pick([_pair, _pair, _number, _one, _one, _made])(draws)
