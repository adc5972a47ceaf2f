"""Functions that move elements: shapes, joins, places, orders, sets."""
import collections

import weft

from . import _dtypes
from ._array import Array, of_kind, tensor_of
from ._creation import result_type

UniqueAll = collections.namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = collections.namedtuple("UniqueCounts", "values counts")
UniqueInverse = collections.namedtuple("UniqueInverse", "values inverse_indices")


def normal_axis(axis, ndim):
    """`axis` counted from the front; IndexError where there is none."""
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise TypeError(f"expected a whole number as an axis, got {type(axis).__name__}")
    if not -ndim <= axis < ndim:
        raise IndexError(f"expected an axis in [{-ndim}, {ndim}), got {axis}")
    return axis % ndim


def normal_axes(axis, ndim):
    """A sorted list of different axes; all for None."""
    if axis is None:
        return list(range(ndim))
    axes = [normal_axis(each, ndim) for each in (axis if isinstance(axis, tuple) else (axis,))]
    if len(set(axes)) != len(axes):
        raise ValueError(f"expected different axes, got {axis}")
    return sorted(axes)


# --- Shapes.

def broadcast_shapes(*shapes):
    result = []
    for place in range(1, max(map(len, shapes), default=0) + 1):
        lengths = {shape[-place] for shape in shapes if len(shape) >= place} - {1}
        if len(lengths) > 1:
            raise ValueError(f"shapes that do not broadcast: {shapes}")
        result.append(lengths.pop() if lengths else 1)
    return tuple(reversed(result))


def broadcast_to(x, /, shape):
    tensor, shape = tensor_of(x), tuple(shape)
    if broadcast_shapes(x.shape, shape) != shape:
        raise ValueError(f"broadcast_to: {x.shape} does not broadcast to {shape}")
    return Array(tensor.expand(shape))


def broadcast_arrays(*arrays):
    shape = broadcast_shapes(*(tensor_of(x).shape for x in arrays))
    return [broadcast_to(x, shape) for x in arrays]


def concat(arrays, /, *, axis=0):
    dtype = result_type(*arrays)
    tensors = [tensor_of(x)._cast(dtype) for x in arrays]
    if axis is None:
        return Array(weft.cat([tensor.reshape((-1,)) for tensor in tensors], 0))
    axis = normal_axis(axis, tensors[0].ndim)
    return Array(weft.cat(tensors, axis))


def stack(arrays, /, *, axis=0):
    dtype = result_type(*arrays)
    axis = normal_axis(axis, arrays[0].ndim + 1)
    return Array(weft.stack([tensor_of(x)._cast(dtype) for x in arrays], axis))


def unstack(x, /, *, axis=0):
    axis = normal_axis(axis, tensor_of(x).ndim)
    return tuple(Array(part) for part in weft.unbind(x._tensor, axis))


def expand_dims(x, /, *, axis=0):
    return Array(tensor_of(x).unsqueeze(normal_axis(axis, x.ndim + 1)))


def squeeze(x, /, axis):
    tensor = tensor_of(x)
    axes = normal_axes(axis, tensor.ndim)
    if any(tensor.shape[each] != 1 for each in axes):
        raise ValueError(f"squeeze: expected axes of length 1 in {x.shape}, got {axis}")
    shape = [length for each, length in enumerate(tensor.shape) if each not in axes]
    return Array(tensor.reshape(shape))


def permute_dims(x, /, axes):
    tensor = tensor_of(x)
    if normal_axes(tuple(axes), tensor.ndim) != list(range(tensor.ndim)):
        raise ValueError(f"permute_dims: expected every axis of {x.shape}, got {axes}")
    return Array(tensor.permute(*[each % tensor.ndim for each in axes]) if axes else tensor)


def moveaxis(x, source, destination, /):
    tensor = tensor_of(x)
    pairs = [tuple(normal_axis(each, tensor.ndim) for each in
                   (axes if isinstance(axes, tuple) else (axes,)))
             for axes in (source, destination)]
    if len(pairs[0]) != len(pairs[1]) or any(len(set(axes)) < len(axes) for axes in pairs):
        raise ValueError(f"moveaxis: expected as many different axes, got {source}, {destination}")
    order = [each for each in range(tensor.ndim) if each not in pairs[0]]
    for place, each in sorted(zip(pairs[1], pairs[0])):
        order.insert(place, each)
    return permute_dims(x, tuple(order))


def reshape(x, /, shape, *, copy=None):
    tensor = tensor_of(x)
    view = tensor.reshape(tuple(shape))
    shares = tensor.numel() == 0 or view.data_ptr() == tensor.data_ptr()
    if copy is False and not shares:
        raise ValueError("reshape: this shape cannot be had without a copy")
    return Array(view.clone() if copy and shares else view)


def flip(x, /, *, axis=None):
    tensor = tensor_of(x)
    axes = normal_axes(axis, tensor.ndim)
    return Array(weft.flip(tensor, axes) if axes else tensor.clone())


def roll(x, /, shift, *, axis=None):
    tensor = tensor_of(x)
    if axis is None:
        flat = tensor.reshape((-1,))
        return Array(weft.roll(flat, [shift], [0]).reshape(tensor.shape))
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise ValueError(f"roll: expected as many shifts as axes, got {shift} and {axis}")
    for each, by in zip(axes, shifts):  # an axis may come twice
        tensor = weft.roll(tensor, [by], [normal_axis(each, tensor.ndim)])
    return Array(tensor)


def tile(x, repetitions, /):
    tensor, counts = tensor_of(x), tuple(repetitions)
    counts = (1,) * (tensor.ndim - len(counts)) + counts
    tensor = tensor.reshape((1,) * (len(counts) - tensor.ndim) + tuple(tensor.shape))
    for axis, count in enumerate(counts):
        tensor = (weft.cat([tensor] * count, axis) if count > 0
                  else weft.narrow(tensor, axis, 0, 0))
    return Array(tensor.clone())


def repeat(x, repeats, /, *, axis=None):
    tensor = tensor_of(x)
    if axis is None:
        tensor, axis = tensor.reshape((-1,)), 0
    axis = normal_axis(axis, tensor.ndim)
    length = tensor.shape[axis]
    if isinstance(repeats, int):
        counts = weft.full((length,), repeats, dtype=_dtypes.int64)
    else:
        counts = of_kind(repeats, _dtypes.INTEGRAL, "repeat")._cast(_dtypes.int64)
        if repeats.ndim > 1 or repeats.size not in (1, length):
            raise ValueError(f"repeat: expected {length} counts, got the shape {repeats.shape}")
        counts = counts.expand((length,))
    if (counts < 0).any():
        raise ValueError("repeat: expected counts >= 0")
    ends = weft.cumsum(counts, 0)
    total = int(ends[-1]) if length else 0
    places = weft.searchsorted(ends.contiguous(), weft.arange(0, total, 1), right=True)
    return Array(weft.index_select(tensor, axis, places))


# --- Places.

def take(x, indices, /, *, axis=None):
    tensor = tensor_of(x)
    places = of_kind(indices, _dtypes.INTEGRAL, "take")._cast(_dtypes.int64)
    if places.ndim != 1:
        raise ValueError(f"take: expected indices of one axis, got the shape {indices.shape}")
    if axis is None and tensor.ndim != 1:
        raise ValueError("take: expected an axis for an array of several")
    axis = normal_axis(0 if axis is None else axis, tensor.ndim)
    length = tensor.shape[axis]
    places = weft.where(places < 0, places + length, places)
    return Array(weft.index_select(tensor, axis, places))


def nonzero(x, /):
    tensor = tensor_of(x)
    if tensor.ndim == 0:
        raise ValueError("nonzero: expected an array with axes")
    places = weft.nonzero(tensor)
    return tuple(Array(places[:, axis].contiguous()) for axis in range(tensor.ndim))


def where(condition, x1, x2, /):
    chosen = of_kind(condition, (_dtypes.bool,), "where")
    dtype = result_type(x1, x2)
    shape = broadcast_shapes(condition.shape, x1.shape, x2.shape)
    return Array(weft.where(chosen.expand(shape), x1._tensor._cast(dtype).expand(shape),
                            x2._tensor._cast(dtype).expand(shape)))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    if side not in ("left", "right"):
        raise ValueError(f'searchsorted: expected side "left" or "right", got {side!r}')
    dtype = result_type(x1, x2)
    row = of_kind(x1, _dtypes.NUMERIC, "searchsorted")._cast(dtype)
    if row.ndim != 1:
        raise ValueError(f"searchsorted: expected one axis, got the shape {x1.shape}")
    if sorter is not None:
        row = weft.index_select(row, 0, tensor_of(sorter)._cast(_dtypes.int64))
    values = tensor_of(x2)._cast(dtype)
    found = weft.searchsorted(row.contiguous(), values.reshape((-1,)).contiguous(),
                              right=side == "right")
    return Array(found.reshape(values.shape))


def _extreme_place(name, of):
    def function(x, /, *, axis=None, keepdims=False):
        tensor = of_kind(x, _dtypes.NUMERIC, name)
        if axis is None:
            place = of(tensor.reshape((-1,)), 0)
            return Array(place.reshape((1,) * tensor.ndim) if keepdims else place)
        return Array(of(tensor, normal_axis(axis, tensor.ndim), keepdims))
    function.__name__ = name
    return function


argmax = _extreme_place("argmax", weft.argmax)
argmin = _extreme_place("argmin", weft.argmin)


# --- Orders and sets.

def sort(x, /, *, axis=-1, descending=False, stable=True):
    tensor = of_kind(x, _dtypes.NUMERIC, "sort")
    return Array(weft.sort(tensor, normal_axis(axis, tensor.ndim), descending)[0])


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    tensor = of_kind(x, _dtypes.NUMERIC, "argsort")
    return Array(weft.argsort(tensor, normal_axis(axis, tensor.ndim), descending))


def unique_all(x, /):
    """Sorted; every NaN is a value of its own."""
    tensor = tensor_of(x)
    flat = tensor.reshape((-1,)).contiguous()
    count = flat.numel()
    as_numbers = flat._cast(_dtypes.uint8) if flat.dtype is _dtypes.bool else flat
    order = weft.argsort(as_numbers, 0)
    ordered = weft.index_select(as_numbers, 0, order)
    fresh = weft.full((count,), True)
    if count > 1:
        fresh[1:] = ordered[1:] != ordered[:-1]
    group = weft.cumsum(fresh._cast(_dtypes.int64), 0) - 1
    inverse = weft.scatter(weft.zeros((count,), dtype=_dtypes.int64), 0, order, group)
    starts = weft.nonzero(fresh).reshape((-1,))
    first = weft.index_select(order, 0, starts)
    counts = weft.cat([starts[1:], weft.full((1,), count)], 0)[:starts.numel()] - starts
    return UniqueAll(Array(weft.index_select(flat, 0, first)), Array(first),
                     Array(inverse.reshape(tensor.shape)), Array(counts))


def unique_counts(x, /):
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x, /):
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x, /):
    return unique_all(x).values
