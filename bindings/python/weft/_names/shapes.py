"""Functions that move values, and joins and parts of tensors."""
import math as _math

from weft import _core
from weft._names._table import Tensor as _Tensor, axes_in as _axes_in, method as _method
from weft._names._table import refuse as _refuse, require_tensor as _require_tensor

_flip, _repeat_interleave, _roll = _core.flip, _core.repeat_interleave, _core.roll


def _sizes(given):
    """f(2, 3) and f((2, 3)) as a list."""
    one = len(given) == 1 and not hasattr(given[0], "__index__")
    return list(given[0] if one else given)


def broadcast_shapes(*shapes):
    """The shape to which all of these are repeated together."""
    shapes = [(each,) if isinstance(each, int) else tuple(each) for each in shapes]
    found = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for i, length in enumerate(shape, len(found) - len(shape)):
            if length != 1 and found[i] not in (1, length):
                raise _refuse("broadcast_shapes", "shapes that broadcast",
                              " and ".join(str(list(each)) for each in shapes))
            found[i] = length if found[i] == 1 else found[i]
    return _core.Size(found)


@_method
def broadcast_to(input, size):  # noqa: A002
    """expand()."""
    return input.expand(*size)


def broadcast_tensors(*tensors):
    """All of one shape, without copies."""
    listed = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], _Tensor) else tensors
    shape = broadcast_shapes(*(each.shape for each in listed))
    return tuple(each.expand(*shape) if each.ndim or shape else each for each in listed)


@_method
def swapaxes(input, axis0, axis1):  # noqa: A002
    """transpose()."""
    return input.transpose(axis0, axis1)


@_method
def swapdims(input, dim0, dim1):  # noqa: A002
    """transpose()."""
    return input.transpose(dim0, dim1)


@_method
def moveaxis(input, source, destination):  # noqa: A002
    """movedim()."""
    return input.movedim(source, destination)


@_method
def adjoint(input):  # noqa: A002
    """The last two axes swapped."""
    return input.transpose(-2, -1)


@_method
def ravel(input):  # noqa: A002
    """All values as one row."""
    return input.flatten()


@_method
def unflatten(input, dim, sizes):  # noqa: A002
    """One axis as several of those lengths, one of which may be -1."""
    place = _axes_in("unflatten", dim, input.ndim)[0]
    known = _math.prod(each for each in sizes if each != -1)
    if (input.shape[place] % known if -1 in sizes and known else input.shape[place] - known) != 0:
        raise _refuse("unflatten", f"sizes whose product is {input.shape[place]}, the length of axis "
                      f"{dim}", tuple(sizes))
    return input.reshape([*input.shape[:place], *sizes, *input.shape[place + 1:]])


@_method
def flip(input, *dims):  # noqa: A002
    """Backwards along the axes: flip(0, 1) and flip((0, 1))."""
    if not dims:
        raise TypeError("flip() misses the argument 'dims'")
    return _flip(input, _sizes(dims))


_flip_method = flip


def flip(input, dims):  # type: ignore[no-redef]  # noqa: A002,F811
    """Backwards along the axes."""
    return _flip(input, [dims] if isinstance(dims, int) else list(dims))


@_method
def fliplr(input):  # noqa: A002
    """Backwards along the second axis."""
    return _flip(input, [1])


@_method
def flipud(input):  # noqa: A002
    """Backwards along the first axis."""
    return _flip(input, [0])


@_method
def rot90(input, k=1, dims=(0, 1)):  # noqa: A002
    """Turned k times by 90 degrees, from the first of two axes towards the second."""
    first, second = _axes_in("rot90", dims, input.ndim)
    if first == second:
        raise _refuse("rot90", "two different axes", dims)
    k %= 4
    if k == 0:
        return input.clone()
    if k == 2:
        return _flip(input, [first, second])
    turned = input.transpose(first, second)
    return _flip(turned, [first if k == 1 else second])


@_method
def roll(input, shifts, dims=None):  # noqa: A002
    """Values moved along axes, around the end; of all values as one row without `dims`."""
    if dims is None or dims == ():
        return _roll(input.flatten(), shifts, 0).reshape(input.shape)
    return _roll(input, shifts, dims)


@_method
def repeat_interleave(input, repeats, dim=None, *, output_size=None):  # noqa: A002
    """Each slice along `dim`, or each value, so many times in a row; a tensor of numbers has one
    for each slice."""
    _require_tensor("repeat_interleave", input)
    if dim is None:
        input, dim = input.flatten(), 0  # noqa: A001
    if not isinstance(repeats, _Tensor):
        return _repeat_interleave(input, repeats, dim)
    if repeats.numel() == 1:
        return _repeat_interleave(input, int(repeats), dim)
    if repeats.ndim != 1 or repeats.shape[0] != input.shape[dim]:
        raise _refuse("repeat_interleave", f"{input.shape[dim]} numbers, one a slice",
                      f"shape {list(repeats.shape)}")
    if bool((repeats < 0).any()):
        raise _refuse("repeat_interleave", "numbers >= 0", repeats.tolist())
    # Added up as Python's numbers, which do not overflow: arange() refuses what is too large.
    places = _core.arange(sum(repeats.tolist()))
    return input.index_select(dim, _core.searchsorted(repeats.cumsum(0), places, right=True))


@_method
def tile(input, *dims):  # noqa: A002
    """repeat(), with 1 for axes that are not named."""
    return _core_tile(input, _sizes(dims))


_core_tile = _core.tile
_tile_method = tile


def tile(input, dims):  # type: ignore[no-redef]  # noqa: A002,F811
    """repeat(), with 1 for axes that are not named."""
    return _core_tile(input, [dims] if isinstance(dims, int) else list(dims))


@_method
def squeeze(input, dim=None):  # noqa: A002
    """Without axes of length 1, or without that one if its length is 1."""
    return _squeeze(input) if dim is None else _squeeze(input, dim)


_squeeze = _core.squeeze


def _at_least(name, count, place):
    def function(*tensors):
        listed = tensors[0] if len(tensors) == 1 and not isinstance(
            tensors[0], _Tensor) else tensors
        found = tuple(place(_require_tensor(name, each)) for each in listed)
        return found[0] if len(tensors) == 1 and isinstance(tensors[0], _Tensor) else found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Tensors with at least {count} axes."
    return function


atleast_1d = _at_least("atleast_1d", 1, lambda x: x.reshape(1) if x.ndim == 0 else x)
atleast_2d = _at_least("atleast_2d", 2, lambda x: x.reshape(1, -1) if x.ndim < 2 else x)
atleast_3d = _at_least("atleast_3d", 3, lambda x: (
    x.reshape(1, -1, 1) if x.ndim < 2 else x.unsqueeze(-1) if x.ndim == 2 else x))


def hstack(tensors):
    """The tensors beside each other."""
    parts = atleast_1d(list(tensors))
    return _core.cat(parts, 0 if parts[0].ndim == 1 else 1)


def vstack(tensors):
    """The tensors below each other."""
    return _core.cat(atleast_2d(list(tensors)), 0)


row_stack = vstack


def dstack(tensors):
    """The tensors behind each other along a third axis."""
    return _core.cat(atleast_3d(list(tensors)), 2)


def column_stack(tensors):
    """Vectors as the columns of a matrix, beside matrices."""
    return hstack([each.reshape(-1, 1) if each.ndim < 2 else each for each in tensors])


def block_diag(*tensors):
    """A matrix with these along its diagonal."""
    parts = atleast_2d(list(tensors))
    rows, columns = (sum(each.shape[axis] for each in parts) for axis in (0, 1))
    lines, before = [], 0
    for part in parts:
        after = columns - before - part.shape[1]
        zeros = [part.new_zeros(part.shape[0], width) for width in (before, after)]
        lines.append(_core.cat([zeros[0], part, zeros[1]], 1))
        before += part.shape[1]
    return _core.cat(lines, 0) if rows else _core.zeros(0, columns)


def _split_places(name, length, given):
    if isinstance(given, _Tensor):
        given = given.tolist()
    if isinstance(given, int):
        if given < 1:
            raise _refuse(name, "at least one part", given)
        small, more = divmod(length, given)
        given = [i * small + min(i, more) for i in range(1, given)]
    return [min(max(place + length if place < 0 else place, 0), length) for place in given]


@_method
def tensor_split(input, indices_or_sections, dim=0):  # noqa: A002
    """Parts of nearly equal length, or parts that begin at those places."""
    places = [0, *_split_places("tensor_split", input.shape[dim], indices_or_sections),
              input.shape[dim]]
    return tuple(input.narrow(dim, begin, max(end - begin, 0))
                 for begin, end in zip(places, places[1:]))


@_method
def hsplit(input, indices_or_sections):  # noqa: A002
    """tensor_split() along the second axis, or along the only one."""
    return tensor_split(input, indices_or_sections, 0 if input.ndim == 1 else 1)


@_method
def vsplit(input, indices_or_sections):  # noqa: A002
    """tensor_split() along the first axis."""
    return tensor_split(input, indices_or_sections, 0)


@_method
def dsplit(input, indices_or_sections):  # noqa: A002
    """tensor_split() along the third axis."""
    return tensor_split(input, indices_or_sections, 2)


@_method
def unsafe_chunk(input, chunks, dim=0):  # noqa: A002
    """chunk()."""
    return input.chunk(chunks, dim)


@_method
def diag_embed(input, offset=0, dim1=-2, dim2=-1):  # noqa: A002
    """Matrices with the last axis along their diagonal."""
    size = input.shape[-1] + abs(offset)
    columns = input.unsqueeze(-2).expand(*input.shape[:-1], input.shape[-1], input.shape[-1])
    square = columns * _core.eye(input.shape[-1], dtype=input.dtype)
    if offset:
        ahead = [input.new_zeros(*input.shape[:-1], abs(offset), input.shape[-1]),
                 input.new_zeros(*input.shape[:-1], size, abs(offset))]
        square = (_core.cat([_core.cat([square, ahead[0]], -2), ahead[1]][::-1], -1) if offset > 0
                  else _core.cat([_core.cat([ahead[0], square], -2), ahead[1]], -1))
    return square.movedim((-2, -1), (dim1, dim2))


@_method
def diagflat(input, offset=0):  # noqa: A002
    """A matrix with all values along its diagonal."""
    return diag_embed(input.flatten(), offset)


def cartesian_prod(*tensors):
    """All combinations of one value of each vector, a row each."""
    if len(tensors) == 1:
        return tensors[0]
    return _core.stack([each.flatten() for each in _core.meshgrid(*tensors)], 1)


@_method
def combinations(input, r=2, with_replacement=False):  # noqa: A002
    """All choices of r values, a row each."""
    import itertools

    if input.ndim != 1:
        raise _refuse("combinations", "a tensor of one axis", f"shape {list(input.shape)}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = list(choose(range(input.shape[0]), r))
    if not places:
        return input.new_zeros(0, r)
    return input[_core.tensor(places)]


def _strided_places(name, input, size, stride, storage_offset):  # noqa: A002
    """The places in input.flatten() of what lies at those steps in memory, in order."""
    _require_tensor(name, input)
    start = (input.storage_offset() if storage_offset is None else storage_offset)
    start -= input.storage_offset()
    if not input.is_contiguous():
        raise _refuse(name, "a contiguous tensor", f"strides {list(input.stride())}")
    places = _core.tensor(start)
    for length, step in zip(size, stride):
        places = places.unsqueeze(-1) + _core.arange(length) * step
    if places.numel() and not 0 <= int(places.min()) <= int(places.max()) < input.numel():
        raise _refuse(name, f"places in the tensor's {input.numel()} values",
                      f"{int(places.min())} to {int(places.max())}")
    return places.flatten()


@_method
def as_strided(input, size, stride, storage_offset=None):  # noqa: A002
    """A copy of the values at those steps in memory, with their history; PyTorch gives a view."""
    places = _strided_places("as_strided", input, size, stride, storage_offset)
    return input.flatten()[places].reshape(tuple(size))


@_method
def as_strided_scatter(input, src, size, stride, storage_offset=None):  # noqa: A002
    """A copy of input with `src` in the places of as_strided(size, stride, storage_offset)."""
    places = _strided_places("as_strided_scatter", input, size, stride, storage_offset)
    if tuple(src.shape) != tuple(size):
        raise _refuse("as_strided_scatter", f"a source of shape {list(size)}", list(src.shape))
    return input.flatten().index_put((places,), src.flatten()).reshape(tuple(input.shape))


def meshgrid(*tensors, indexing=None):
    """Grids of the vectors' values."""
    listed = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], _Tensor) else tensors
    return _meshgrid(*listed, indexing=indexing or "ij")


_meshgrid = _core.meshgrid
setattr(_Tensor, "flip", _flip_method)
setattr(_Tensor, "tile", _tile_method)
