"""Random calls that Weft and PyTorch take alike, and how the two are compared.

A part is a function of `Draws` that gives a Case: a call of the library T and its functional F with
arrays. A case is drawn anew from its part, seed and number, by NumPy's RandomState, whose numbers
are the same in every version. `compare` runs it in both libraries: values, types and all gradients,
in float32; where the two part, whether they agree in float64 tells rounding from the rest.
"""
import re
import warnings
import zlib

import numpy as np

from cases import known

TOLERANCE = 2e-5  # of the largest value
NOISE = 8.0  # so much more than PyTorch's own rounding errors is not rounding
EXACT = 1e-9  # in float64
NOISE_MAX = 5e-3  # what may be rounding in float32 where the two agree in float64

class Case:
    """`text` says what is called, enough to read it; `call(T, F, *tensors)` gives a tensor or a
    tuple of them. Arrays of float32 become tensors that require grad if `grads`; second
    derivatives are compared if `twice`, that is, not at kinks and where values are infinite."""

    def __init__(self, text, arrays, call, grads=True, twice=True):
        self.text, self.call, self.grads, self.twice = text, call, grads, twice and grads
        self.arrays = [np.asarray(a) for a in arrays]


class Draws(np.random.RandomState):
    """What generators draw from."""

    def chance(self, p):
        return bool(self.uniform() < p)

    def whole(self, low, high):
        """In [low, high], both included."""
        return int(self.randint(low, high + 1))

    def pick(self, choices):
        return choices[self.randint(len(choices))]

    def shape(self, low=1, high=4, sizes=(1, 2, 3, 4, 5), empty=0.0):
        """Of low to high axes; with probability `empty` one of them has size 0."""
        shape = [self.pick(sizes) for _ in range(self.whole(low, high))]
        if shape and self.chance(empty):
            shape[self.randint(len(shape))] = 0
        return tuple(shape)

    def values(self, *shape):
        """Normal values of float32."""
        return np.asarray(self.standard_normal(shape), np.float32)

    def coarse(self, *shape):
        """Halves in [-2, 2]: with ties and zeros."""
        return np.asarray(self.randint(-4, 5, shape) / 2, np.float32)

    def positive(self, *shape):
        return np.asarray(self.uniform(0.2, 2.0, shape), np.float32)

    def axis(self, shape):
        return self.whole(-len(shape), len(shape) - 1)

    def axes(self, shape):
        """One axis, several or None."""
        if not shape or self.chance(0.15):
            return None
        if self.chance(0.5):
            return self.axis(shape)
        count = self.whole(1, len(shape))
        return tuple(int(i) - (len(shape) if self.chance(0.3) else 0)
                     for i in self.permutation(len(shape))[:count])

    def divisor(self, n):
        return self.pick([k for k in range(1, n + 1) if n % k == 0])

    def spread(self, shape):
        """A shape that broadcasts to `shape`."""
        out = tuple(1 if self.chance(0.3) else n for n in shape)
        return out[self.whole(0, len(out)):] if self.chance(0.3) else out


def draw(part, generate, seed, number):
    """The case of that number; generators give None for what makes no sense, and draw again."""
    draws = Draws(zlib.crc32(f"{part} {seed} {number}".encode()))
    for _ in range(100):
        case = generate(draws)
        if case is not None:
            return case
    raise RuntimeError(f"the part {part} makes no cases")


def as_list(outputs):
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def type_name(x):
    return str(x.dtype).split(".")[-1]


def as_array(x):
    x = x.detach()
    return (x.float() if type_name(x) == "bfloat16" else x).numpy()


def tensors_of(T, case, wide):
    tensors = []
    for array in case.arrays:
        floating = array.dtype == np.float32
        tensor = T.tensor(array.astype(np.float64) if floating and wide else array)
        tensors.append(tensor.requires_grad_(True) if floating and case.grads else tensor)
    return tensors


def seed_of(T, output):
    """The gradient that is given for an output."""
    values = np.random.RandomState(7).standard_normal(tuple(output.shape))
    return T.tensor(np.asarray(values)).to(output.dtype)


def run(T, case, wide=False):
    """[(name of the type, array)]: of each output and then each gradient, None where there is
    none. In float64 if `wide`."""
    tensors = tensors_of(T, case, wide)
    outputs = as_list(case.call(T, T.nn.functional, *tensors))
    found = [(type_name(y), as_array(y)) for y in outputs]
    total = None
    for y in outputs:
        if y.requires_grad:
            part = (y * seed_of(T, y)).sum()
            total = part if total is None else total + part
    if total is not None:
        total.backward()
        found += [None if x.grad is None else (type_name(x.grad), as_array(x.grad))
                  for x in tensors if x.requires_grad]
    return found


def second(T, case):
    """Second derivatives in float64: of the squares of the first ones, for every input."""
    if not case.twice:
        return []
    tensors = tensors_of(T, case, True)
    outputs = [y for y in as_list(case.call(T, T.nn.functional, *tensors)) if y.requires_grad]
    inputs = [x for x in tensors if x.requires_grad]
    if not outputs:
        return []
    loss = sum((y.sin() * seed_of(T, y)).sum() for y in outputs)
    first = T.autograd.grad(loss, inputs, create_graph=True, allow_unused=True)
    total = sum((g * g * seed_of(T, g)).sum() for g in first if g is not None)
    then = T.autograd.grad(total, inputs, allow_unused=True)
    return [None if g is None else (type_name(g), as_array(g)) for g in (*first, *then)]


def off(got, want):
    """How far arrays of one shape are apart, over the largest wanted value and 1; infinite where
    NaN or infinities stand at different places."""
    if got.dtype.kind in "biu" or want.dtype.kind in "biu":
        return 0.0 if (got == want).all() else np.inf
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    if not same[~finite].all() or not np.isfinite(got[finite]).all():
        return np.inf
    if not finite.any():
        return 0.0
    return np.abs(got[finite] - want[finite]).max() / (1.0 + np.abs(want[finite]).max())


PRECISION = {"float16": 4e-3, "bfloat16": 3e-2, "float64": EXACT}


def difference(got, want):
    """None or what differs between two results of run() or second()."""
    if len(got) != len(want):
        return f"{len(got)} results where {len(want)} were expected"
    for at, (mine, theirs) in enumerate(zip(got, want)):
        if mine is None or theirs is None:
            other = mine if theirs is None else theirs
            if other is not None and other[1].any():
                return f"result {at}: a gradient in {'PyTorch' if mine is None else 'Weft'} alone"
            continue
        if mine[1].shape != theirs[1].shape:
            return f"result {at}: shape {mine[1].shape} where {theirs[1].shape} was expected"
        if mine[0] != theirs[0]:
            return f"result {at}: {mine[0]} where {theirs[0]} was expected"
        apart = off(mine[1], theirs[1])
        if apart > PRECISION.get(mine[0], TOLERANCE):
            return (f"result {at}: off by {apart:.2e}: {mine[1].ravel()[:6]} where "
                    f"{theirs[1].ravel()[:6]} was expected")
    return None


def is_rounding(case, weft, torch, got, want):
    """Whether results part in float32 alone: in float64 the two libraries agree, and Weft is no
    further from that than PyTorch is, or than cancellation explains."""
    exact, exact_got = attempt(run, torch, case, True), attempt(run, weft, case, True)
    if isinstance(exact, Exception) or isinstance(exact_got, Exception):
        return False
    if difference(exact_got, exact) is not None or len(exact) != len(got):
        return False
    for mine, theirs, right in zip(got, want, exact):
        if right is None or mine is None or theirs is None:
            continue
        if off(mine[1], right[1]) > max(NOISE_MAX, NOISE * off(theirs[1], right[1])):
            return False
    return True


def attempt(function, *arguments):
    """What the function gives, or what it raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments)
    except Exception as error:  # whatever a library raises is its answer
        return error


def reason(table, case, what):
    """Why, if the table knows of it."""
    for pattern, why in table:
        if re.search(pattern, f"{case.text} -> {what}", re.DOTALL):
            return why
    return None


def compare(case, weft, torch, how=run):
    """(kind, what): "same"; "rounding"; "deliberate" or "different"; "known" or "refused" (by Weft
    alone); "accepted" (by Weft alone); "neither" takes the call."""
    want, got = attempt(how, torch, case), attempt(how, weft, case)
    if isinstance(want, Exception):
        if isinstance(got, Exception):
            return "neither", ""
        return "accepted", f"PyTorch says: {want}"
    if isinstance(got, Exception):
        what = f"{type(got).__name__}: {got}"
        why = reason(known.REFUSED, case, what)
        return ("known", why) if why else ("refused", what)
    what = difference(got, want)
    if what is None:
        return "same", ""
    why = reason(known.DELIBERATE, case, what)
    if why:
        return "deliberate", why
    if how is run and is_rounding(case, weft, torch, got, want):
        return "rounding", what
    return "different", what


def summary(results):
    """What is recorded of results: of each its type and shape, the norm, and a sum with weights,
    which sees where each value stands. None for what is not finite, too."""
    kept = []
    for each in results:
        if each is None:
            kept.append(None)
            continue
        name, array = each
        flat = array.astype(np.float64).ravel()
        weights = np.random.RandomState(11).uniform(0.5, 1.5, flat.size)
        numbers = [None, None]
        if np.isfinite(flat).all():
            numbers = [float(f"{number:.7g}") for number in (np.linalg.norm(flat), weights @ flat)]
        kept.append([" ".join([name, *map(str, array.shape)]), *numbers])
    return kept


def all_parts():
    """By name."""
    from cases import (
        elements, indexing, layers, losses, products, reductions, shapes, types, volumes)

    return {"elements": elements.case, "indexing": indexing.case, "layers": layers.case,
            "losses": losses.case, "products": products.case, "reductions": reductions.case,
            "shapes": shapes.case, "types": types.case,
            "volumes": volumes.case}
