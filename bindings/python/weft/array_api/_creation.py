"""Functions that make arrays, and those that ask about and change types."""
import collections
import math

import weft

from . import _dtypes
from ._array import Array, check_device, tensor_of

FloatInfo = collections.namedtuple("FloatInfo", "bits eps max min smallest_normal dtype")
IntegerInfo = collections.namedtuple("IntegerInfo", "bits max min dtype")


def _type(dtype, default):
    if dtype is None:
        return default
    _dtypes.kind_of(dtype)
    return dtype


def _shape(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _leaves(values):
    """The numbers of nested lists, in order."""
    if isinstance(values, (list, tuple)):
        for value in values:
            yield from _leaves(value)
    else:
        yield values


def _sequence_dtype(values):
    found, whole = None, {_dtypes.bool: 0, _dtypes.int64: 1, _dtypes.float32: 2}
    for value in _leaves(values):
        dtype = value.dtype if isinstance(value, Array) else _dtypes.default_dtype(value)
        if found is None or whole.get(dtype, 3) > whole.get(found, 3):
            found = dtype
    return found or _dtypes.float32


def _plain(values):
    if isinstance(values, (list, tuple)):
        return [_plain(value) for value in values]
    return values._number() if isinstance(values, Array) else values


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    check_device(device)
    if isinstance(obj, complex):
        raise TypeError("asarray: Weft has no complex numbers")
    if isinstance(obj, Array):
        wanted = _type(dtype, obj.dtype)
        if copy is False and wanted != obj.dtype:
            raise ValueError(f"asarray: {wanted!r} cannot be had of {obj.dtype!r} without a copy")
        tensor = obj._tensor._cast(wanted)
        return Array(tensor.clone() if copy and wanted == obj.dtype else tensor)
    if isinstance(obj, (bool, int, float, list, tuple)):
        if copy is False:
            raise ValueError("asarray: numbers of Python cannot be had without a copy")
        return Array(weft.tensor(_plain(obj), dtype=_type(dtype, _sequence_dtype(obj))))
    wanted = None if dtype is None else _type(dtype, None)
    if isinstance(obj, weft.Tensor) or _has_buffer(obj):
        return Array(weft.asarray(obj, dtype=wanted, copy=copy))
    return asarray(from_dlpack(obj), dtype=wanted, copy=copy)


def _has_buffer(obj):
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


def from_dlpack(x, /, *, device=None, copy=None):
    check_device(device)
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"expected an array that speaks DLPack, got {type(x).__name__}")
    tensor = weft.from_dlpack(x)
    return Array(tensor.clone() if copy else tensor)


def _filled(name, value):
    def function(shape, *, dtype=None, device=None):
        check_device(device)
        return Array(weft.full(_shape(shape), value, dtype=_type(dtype, _dtypes.float32)))

    def like(x, /, *, dtype=None, device=None):
        check_device(device)
        return Array(weft.full(x.shape, value, dtype=_type(dtype, tensor_of(x).dtype)))
    function.__name__, like.__name__ = name, name + "_like"
    return function, like


zeros, zeros_like = _filled("zeros", 0)
ones, ones_like = _filled("ones", 1)
empty, empty_like = _filled("empty", 0)


def full(shape, fill_value, *, dtype=None, device=None):
    check_device(device)
    if isinstance(fill_value, Array):
        fill_value = fill_value._number()
    dtype = _type(dtype, _dtypes.default_dtype(fill_value))
    return Array(weft.full(_shape(shape), fill_value, dtype=dtype))


def full_like(x, /, fill_value, *, dtype=None, device=None):
    return full(tensor_of(x).shape, fill_value, dtype=_type(dtype, x.dtype), device=device)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    check_device(device)
    if stop is None:
        start, stop = 0, start
    whole = all(isinstance(value, int) for value in (start, stop, step))
    dtype = _type(dtype, _dtypes.int64 if whole else _dtypes.float32)
    if step == 0:
        raise ValueError("arange: expected a step other than 0")
    length = max(0, -(-(stop - start) // step) if whole else math.ceil((stop - start) / step))
    places = weft.arange(0, int(length), 1)
    exact = _dtypes.int64 if whole else _dtypes.float64
    values = places._cast(exact) * weft.full((), step, dtype=exact)
    return Array((values + weft.full((), start, dtype=exact))._cast(dtype))


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    check_device(device)
    dtype = _type(dtype, _dtypes.float32)
    if dtype not in _dtypes.REAL:
        raise TypeError(f"linspace: expected a floating-point type, got {dtype!r}")
    if num < 0:
        raise ValueError(f"linspace: expected num >= 0, got {num}")
    steps = num - 1 if endpoint else num
    part = weft.arange(0, num, 1)._cast(_dtypes.float64) / max(steps, 1)
    values = part * float(stop) + (1 - part) * float(start)
    return Array(values._cast(dtype))


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    check_device(device)
    columns = n_rows if n_cols is None else n_cols
    rows = weft.arange(0, n_rows, 1).reshape((n_rows, 1))
    places = weft.arange(0, columns, 1).reshape((1, columns)) - k
    return Array((rows == places)._cast(_type(dtype, _dtypes.float32)))


def meshgrid(*arrays, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid: expected indexing "xy" or "ij", got {indexing!r}')
    if any(tensor_of(x).ndim > 1 for x in arrays):
        raise ValueError("meshgrid: expected arrays of one axis")
    if len({x.dtype for x in arrays}) > 1:
        raise ValueError("meshgrid: expected arrays of one type")
    count = len(arrays)
    axes = list(range(count))
    if indexing == "xy" and count > 1:
        axes[0], axes[1] = 1, 0
    shape = [1] * count
    for x, axis in zip(arrays, axes):
        shape[axis] = x.size
    grids = []
    for x, axis in zip(arrays, axes):
        own = [1] * count
        own[axis] = x.size
        grids.append(Array(x._tensor.reshape(own).expand(shape).clone()))
    return grids


def _triangle(name, of):
    def function(x, /, *, k=0):
        tensor = tensor_of(x)
        if tensor.ndim < 2:
            raise ValueError(f"{name}: expected at least 2 axes, got {tensor.ndim}")
        return Array(of(tensor, k))
    function.__name__ = name
    return function


tril = _triangle("tril", weft.tril)
triu = _triangle("triu", weft.triu)


# --- Types.

def astype(x, dtype, /, *, copy=True, device=None):
    check_device(device)
    _dtypes.kind_of(dtype)
    tensor = tensor_of(x)
    if tensor.dtype == dtype:
        return Array(tensor.clone()) if copy else x
    return Array(tensor._cast(dtype))


def can_cast(from_, to, /):
    source = from_.dtype if isinstance(from_, Array) else from_
    try:
        return _dtypes.promote(source, to) == to
    except TypeError:
        return False


def isdtype(dtype, kind):
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in _dtypes.KINDS:
            raise ValueError(f"isdtype: expected one of {sorted(_dtypes.KINDS)}, got {kind!r}")
        return dtype in _dtypes.KINDS[kind]
    return dtype == kind


def result_type(*arrays_and_dtypes):
    if not arrays_and_dtypes:
        raise ValueError("result_type: expected an array or a type")
    dtypes = [each.dtype if isinstance(each, Array) else each for each in arrays_and_dtypes]
    result = dtypes[0]
    _dtypes.kind_of(result)
    for dtype in dtypes[1:]:
        result = _dtypes.promote(result, dtype)
    return result


def _dtype_of(type_or_array):
    return type_or_array.dtype if isinstance(type_or_array, Array) else type_or_array


def finfo(type, /):
    dtype = _dtype_of(type)
    if dtype == _dtypes.float32:
        return FloatInfo(32, 2.0 ** -23, (2 - 2.0 ** -23) * 2.0 ** 127,
                         -(2 - 2.0 ** -23) * 2.0 ** 127, 2.0 ** -126, dtype)
    if dtype == _dtypes.float64:
        return FloatInfo(64, 2.0 ** -52, (2 - 2.0 ** -52) * 2.0 ** 1023,
                         -(2 - 2.0 ** -52) * 2.0 ** 1023, 2.0 ** -1022, dtype)
    raise TypeError(f"finfo: expected a floating-point type, got {dtype!r}")


def iinfo(type, /):
    dtype = _dtype_of(type)
    if dtype not in _dtypes.INTEGRAL:
        raise TypeError(f"iinfo: expected a type of whole numbers, got {dtype!r}")
    bits = _dtypes.BITS[dtype]
    if dtype in _dtypes.UNSIGNED:
        return IntegerInfo(bits, 2 ** bits - 1, 0, dtype)
    return IntegerInfo(bits, 2 ** (bits - 1) - 1, -2 ** (bits - 1), dtype)
