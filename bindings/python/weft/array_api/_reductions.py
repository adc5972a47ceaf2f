"""Functions that make fewer elements of many, products of matrices, and norms."""
import builtins
import math

import weft

from . import _dtypes
from ._array import Array, of_kind, operands, tensor_of
from ._elementwise import _where
from ._manipulation import broadcast_shapes, normal_axes, normal_axis


def _sum_type(dtype, wanted):
    if wanted is not None:
        _dtypes.kind_of(wanted)
        return wanted
    return _dtypes.int64 if dtype in _dtypes.INTEGRAL else dtype


def _reduced(of, tensor, axis, keepdims):
    """`of` over the axes; over none of them the values themselves."""
    axes = normal_axes(axis, tensor.ndim)
    if not axes:
        # One element each: along an axis that is there for this alone.
        return of(tensor.unsqueeze(0), [0], False)
    return of(tensor, axes, keepdims)


def _total(name, of):
    def function(x, /, *, axis=None, dtype=None, keepdims=False):
        tensor = of_kind(x, _dtypes.NUMERIC, name)
        tensor = tensor._cast(_sum_type(tensor.dtype, dtype))
        return Array(_reduced(of, tensor, axis, keepdims)._cast(tensor.dtype))
    function.__name__ = name
    return function


sum = _total("sum", weft.sum)
prod = _total("prod", weft.prod)


def _extreme(name, of):
    def function(x, /, *, axis=None, keepdims=False):
        tensor = of_kind(x, _dtypes.NUMERIC, name)
        axes = normal_axes(axis, tensor.ndim)
        if builtins.any(tensor.shape[each] == 0 for each in axes):
            raise ValueError(f"{name}: there are no elements along {axes} of {x.shape}")
        return Array(_reduced(of, tensor, axis, keepdims))
    function.__name__ = name
    return function


max = _extreme("max", weft.amax)
min = _extreme("min", weft.amin)


def mean(x, /, *, axis=None, keepdims=False):
    tensor = of_kind(x, _dtypes.REAL, "mean")
    return Array(_reduced(weft.mean, tensor, axis, keepdims))


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The mean of squared differences from the mean, over n - correction."""
    tensor = of_kind(x, _dtypes.REAL, "var")
    count = math.prod(tensor.shape[each] for each in normal_axes(axis, tensor.ndim))
    if count == 0:
        return mean(x, axis=axis, keepdims=keepdims)
    centre = _reduced(weft.mean, tensor, axis, True)
    away = weft.square(tensor - centre)
    total = _reduced(weft.sum, away, axis, keepdims)
    over = weft.full((), float(count - correction), dtype=tensor.dtype)
    return Array(total / weft.maximum(over, weft.full((), 0.0, dtype=tensor.dtype)))


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    of_kind(x, _dtypes.REAL, "std")
    return Array(weft.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims)._tensor))


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    tensor = of_kind(x, _dtypes.NUMERIC, "cumulative_sum")
    if axis is None and tensor.ndim != 1:
        raise ValueError("cumulative_sum: expected an axis for an array of several or none")
    axis = normal_axis(0 if axis is None else axis, tensor.ndim)
    tensor = tensor._cast(_sum_type(tensor.dtype, dtype))
    sums = weft.cumsum(tensor, axis)._cast(tensor.dtype)
    if include_initial:
        shape = list(tensor.shape)
        shape[axis] = 1
        sums = weft.cat([weft.zeros(shape, dtype=tensor.dtype), sums], axis)
    return Array(sums)


def _truth(name, of):
    def function(x, /, *, axis=None, keepdims=False):
        truths = tensor_of(x)._cast(_dtypes.bool)
        return Array(_reduced(of, truths, axis, keepdims))
    function.__name__ = name
    return function


all = _truth("all", weft.all)
any = _truth("any", weft.any)


# --- Matrices.

def matmul(x1, x2, /):
    for x in (x1, x2):
        if tensor_of(x).ndim == 0:
            raise ValueError("matmul: expected arrays with axes")
    a, b = operands(x1, x2, _dtypes.NUMERIC, "matmul")
    inner = (a.shape[-1], b.shape[0] if b.ndim == 1 else b.shape[-2])
    if inner[0] != inner[1]:
        raise ValueError(f"matmul: expected matching lengths, got {inner}")
    return Array(weft.matmul(a, b))


def matrix_transpose(x, /):
    tensor_of(x)
    return x.mT


def tensordot(x1, x2, /, *, axes=2):
    a, b = operands(x1, x2, _dtypes.NUMERIC, "tensordot")
    if isinstance(axes, int):
        pairs = (list(range(a.ndim - axes, a.ndim)), list(range(axes)))
        if not 0 <= axes <= builtins.min(a.ndim, b.ndim):
            raise ValueError(f"tensordot: expected at most {builtins.min(a.ndim, b.ndim)} axes")
    else:
        pairs = tuple([normal_axis(each, tensor.ndim) for each in listed]
                      for listed, tensor in zip(axes, (a, b)))
    lengths = [[tensor.shape[each] for each in listed] for tensor, listed in zip((a, b), pairs)]
    if lengths[0] != lengths[1]:
        raise ValueError(f"tensordot: expected matching lengths, got {lengths}")
    rest = [[each for each in range(tensor.ndim) if each not in listed]
            for tensor, listed in zip((a, b), pairs)]
    shape = [a.shape[each] for each in rest[0]] + [b.shape[each] for each in rest[1]]
    inner = math.prod(lengths[0])
    outer = [math.prod(tensor.shape[each] for each in kept)
             for tensor, kept in zip((a, b), rest)]
    left = _permuted(a, rest[0] + pairs[0]).reshape((outer[0], inner))
    right = _permuted(b, pairs[1] + rest[1]).reshape((inner, outer[1]))
    return Array(weft.matmul(left, right).reshape(shape))


def _permuted(tensor, order):
    return tensor.permute(*order) if order else tensor


def vecdot(x1, x2, /, *, axis=-1):
    a, b = operands(x1, x2, _dtypes.NUMERIC, "vecdot")
    place = normal_axis(axis, builtins.min(a.ndim, b.ndim))
    place -= builtins.min(a.ndim, b.ndim)
    if a.shape[place] != b.shape[place]:
        raise ValueError(f"vecdot: expected equal lengths, got {a.shape[place]}, {b.shape[place]}")
    broadcast_shapes(tuple(a.shape), tuple(b.shape))
    return Array(weft.sum(a * b, [place])._cast(a.dtype))


# --- The extension linalg, as far as it goes.

def outer(x1, x2, /):
    a, b = operands(x1, x2, _dtypes.NUMERIC, "outer")
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError("outer: expected arrays of one axis")
    return Array(a.reshape((-1, 1)) * b.reshape((1, -1)))


def diagonal(x, /, *, offset=0):
    if tensor_of(x).ndim < 2:
        raise ValueError("diagonal: expected at least 2 axes")
    return Array(weft.diagonal(x._tensor, offset, -2, -1))


def trace(x, /, *, offset=0, dtype=None):
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def cross(x1, x2, /, *, axis=-1):
    a, b = operands(x1, x2, _dtypes.NUMERIC, "cross")
    place = normal_axis(axis, builtins.min(a.ndim, b.ndim)) - builtins.min(a.ndim, b.ndim)
    if a.shape[place] != 3 or b.shape[place] != 3:
        raise ValueError("cross: expected 3 elements along the axis")
    shape = broadcast_shapes(tuple(a.shape), tuple(b.shape))
    rows = [weft.unbind(tensor.expand(shape), place) for tensor in (a, b)]
    (u, v, w), (x, y, z) = rows
    return Array(weft.stack([v * z - w * y, w * x - u * z, u * y - v * x], place))


def matrix_power(x, n, /):
    tensor = of_kind(x, _dtypes.REAL, "matrix_power")
    if tensor.ndim < 2 or tensor.shape[-1] != tensor.shape[-2] or n < 0:
        raise ValueError("matrix_power: expected square matrices and n >= 0")
    result = weft.eye(tensor.shape[-1])._cast(tensor.dtype).expand(tensor.shape)
    while n:
        result = weft.matmul(result, tensor) if n & 1 else result
        tensor, n = weft.matmul(tensor, tensor), n >> 1
    return Array(result.clone())


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Of the values over the largest, so that squares do not overflow."""
    tensor = of_kind(x, _dtypes.REAL, "vector_norm")
    size = weft.abs(tensor)
    if ord == math.inf:
        return max(Array(size), axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return min(Array(size), axis=axis, keepdims=keepdims)
    if ord == 0:
        present = (size != 0)._cast(tensor.dtype)
        return Array(_reduced(weft.sum, present, axis, keepdims))
    if size.numel() == 0 or ord < 0:
        powers = weft.pow(size, weft.full((), float(ord), dtype=size.dtype))
        total = _reduced(weft.sum, powers, axis, keepdims)
        return Array(weft.pow(total, weft.full((), 1.0 / ord, dtype=size.dtype)))
    largest = _reduced(weft.amax, size, axis, True)
    one = weft.full((), 1.0, dtype=size.dtype)
    scale = _where(weft.logical_or(largest == 0, weft.isinf(largest)), one, largest)
    powers = weft.pow(size / scale, weft.full((), float(ord), dtype=size.dtype))
    total = _reduced(weft.sum, powers, axis, True)
    norms = weft.pow(total, weft.full((), 1.0 / ord, dtype=size.dtype)) * scale
    axes = normal_axes(axis, tensor.ndim)
    shape = [length for each, length in enumerate(norms.shape) if keepdims or each not in axes]
    return Array(norms.reshape(shape))
