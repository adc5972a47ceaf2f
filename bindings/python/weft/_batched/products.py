"""Rules of products of matrices: samples side by side are one batched product, and a matrix that
they share is read once."""
import string

from weft import _core
from weft._batched.table import aligned, has, rule, values, wrap
from weft.autograd import no_grad


def _refuse(name, expected, *tensors):
    shapes = " and ".join(str(list(each.shape)) for each in tensors)
    return _core.InvalidArgumentError(f"[{name}] expected {expected}, got shapes {shapes}")


def _rows(level, a, b):
    """[B, k] @ a matrix that all samples share."""
    return wrap(level, _core.matmul(a._value, b))


def _is_shared(x):
    """Whether all samples of `x` lie in one place: those of per_sample()."""
    return type(x) is _core.Tensor and x.ndim == 3 and x.shape[0] > 1 and x.stride(0) == 0


def _pairs(a, b):
    """a^T b of each sample, [B, L, m] and [B, L, n] to [B, m, n]."""
    return a.mT * b if a.shape[1] == 1 else _core.bmm(a.mT, b)


def _each(name, shared, separate, slopes):
    """A product of each sample's matrices [B, L, k] and [B, ., .], as an operation of its own: a
    matrix that lies in one place is read once, and still has one gradient a sample."""
    def product(a, b):
        with no_grad():
            output = shared(a.reshape(-1, a.shape[2]), b[0]).reshape(
                a.shape[0], a.shape[1], -1) if _is_shared(b) else separate(a, b)
        if not (_core.is_grad_enabled() and (a.requires_grad or b.requires_grad)):
            return output
        if not a.dtype is b.dtype is output.dtype:  # of autocast
            return separate(a, b)
        needed = a.requires_grad, b.requires_grad
        return _core._apply_function(name, output, [a, b], [a, b], lambda saved, dy: [
            slope(*saved, dy) if needs else None for slope, needs in zip(slopes, needed)])

    return product


def _first_slope(a, b, dy):
    return _linear_products(dy, b)


# a b with b of [B, k, n], and a b^T with b of [B, n, k].
_products = _each("bmm", _core.matmul, _core.bmm,
                  (_first_slope, lambda a, b, dy: _pairs(a, dy)))
_linear_products = _each("linear", _core.linear, lambda a, b: _core.bmm(a, b.mT),
                         (lambda a, b, dy: _products(dy, b), lambda a, b, dy: _pairs(dy, a)))


@rule("mv")
def _mv(level, input, vec):  # noqa: A002
    for what, x, count in (("input", input, 2), ("vec", vec, 1)):
        if x.ndim != count:
            raise _refuse("mv", f"{what} of {count} axes", x)
    return input @ vec


@rule("matmul", "__matmul__")
def _matmul(level, input, other):  # noqa: A002
    if input.ndim == 0 or other.ndim == 0:
        raise _refuse("matmul", "operands of at least one axis", input, other)
    if not has(level, other) and other.ndim == 2:
        return _rows(level, input, other)
    if not has(level, input) and input.ndim == 2 and other.ndim == 1:
        return _rows(level, other, input.transpose(0, 1))
    if other.ndim == 2 and _is_shared(other._value):
        rows = values(level, input).reshape(level.size, -1, input.shape[-1])
        found = _products(rows, other._value)
        return wrap(level, found.reshape(level.size, *input.shape[:-1], other.shape[-1]))
    a = input.unsqueeze(0) if input.ndim == 1 else input
    b = other.unsqueeze(1) if other.ndim == 1 else other
    found = _core.matmul(*aligned(level, (a, b)))
    if other.ndim == 1:
        found = found.squeeze(-1)
    if input.ndim == 1:
        found = found.squeeze(-1 if other.ndim == 1 else -2)
    return wrap(level, found)


def _of_ranks(name, ranks, expected):
    @rule(name)
    def run(level, input, other):  # noqa: A002
        if (input.ndim, other.ndim) != ranks:
            raise _refuse(name, expected, input, other)
        if ranks == (3, 3) and input.shape[0] != other.shape[0]:
            raise _refuse(name, "as many matrices on both sides", input, other)
        return _matmul(level, input, other)


_of_ranks("mm", (2, 2), "two matrices")
_of_ranks("bmm", (3, 3), "[b, m, k] and [b, k, n]")


@rule("dot")
def _dot(level, input, other):  # noqa: A002
    if input.ndim != 1 or tuple(input.shape) != tuple(other.shape):
        raise _refuse("dot", "two vectors of one length", input, other)
    return _matmul(level, input, other)


@rule("outer")
def _outer(level, input, other):  # noqa: A002
    if input.ndim != 1 or other.ndim != 1:
        raise _refuse("outer", "two vectors", input, other)
    return input.unsqueeze(1) * other.unsqueeze(0)


def _implied(parts):
    """The output of an equation that names none: letters that come once, in order."""
    letters = "".join(parts).replace(".", "").replace(" ", "")
    once = sorted(each for each in set(letters) if letters.count(each) == 1)
    return ("..." if any("..." in each for each in parts) else "") + "".join(once)


@rule("einsum")
def _einsum(level, equation, *operands):
    listed = operands[0] if len(operands) == 1 and isinstance(
        operands[0], (list, tuple)) else operands
    left, _, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(listed):
        raise _core.InvalidArgumentError(
            f"[einsum] expected {len(parts)} operands for '{equation}', got {len(listed)}")
    right = right if "->" in equation else _implied(parts)
    batch = next(each for each in string.ascii_letters if each not in equation)
    parts = [batch + part if has(level, x) else part for part, x in zip(parts, listed)]
    found = _core.einsum(f"{','.join(parts)}->{batch}{right}",
                         *(x._value if has(level, x) else x for x in listed))
    return wrap(level, found)


@rule("linear")
def _linear(level, input, weight, bias=None, *, relu=False):  # noqa: A002
    shared = bias is None or not has(level, bias)
    if not has(level, weight) and input.ndim:
        x = values(level, input)
        if shared:
            return wrap(level, _core.linear(x, weight, bias, relu=relu))
        found = wrap(level, _core.linear(x, weight)) + bias
        return found.relu() if relu else found
    if weight.ndim != 2 or input.ndim == 0 or input.shape[-1] != weight.shape[1]:
        raise _refuse("linear", "[..., in] and a weight [out, in]", input, weight)
    width = input.shape[-1]
    rows = values(level, input).reshape(level.size, -1, width)
    found = _linear_products(rows, values(level, weight))
    if bias is not None:
        found = found + (bias if shared else bias._value.unsqueeze(1))
    found = found.reshape(level.size, *input.shape[:-1], weight.shape[0])
    return wrap(level, found.relu() if relu else found)


def _folded(name):
    """Functions of [b, m, n] of weft.linalg: the samples are more of the b."""
    compute = getattr(_core, name)

    @rule(name)
    def run(level, *operands):
        count = next(each.shape[0] for each in operands if has(level, each))
        flat = [values(level, each).reshape(level.size * each.shape[0], *each.shape[1:])
                if hasattr(each, "shape") else each for each in operands]
        found = compute(*flat)
        if isinstance(found, (list, tuple)):
            return wrap(level, [each.reshape(level.size, count, *each.shape[1:]) for each in found])
        return wrap(level, found.reshape(level.size, count, *found.shape[1:]))


for _name in ("_solve", "_slogdet", "_cholesky", "_qr", "_eigh", "_svd", "_lu"):
    _folded(_name)
