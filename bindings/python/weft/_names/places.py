"""Functions that read and write places: masks, indexes, scatters."""
from weft import _core
from weft._names._table import Tensor as _Tensor, axes_in as _axes_in, method as _method
from weft._names._table import refuse as _refuse, require_tensor as _require_tensor

_nonzero, _where_of, _scatter, _scatter_add = (
    _core.nonzero, _core.where, _core.scatter, _core.scatter_add)
_in_order = sorted
_bincount, _unique = _core.bincount, _core.unique


@_method
def nonzero(input, *, as_tuple=False):  # noqa: A002
    """int64 [count, ndim]: the places that are not 0; as_tuple: one vector for each axis."""
    if not as_tuple:
        return _nonzero(input)
    found = _nonzero(input.reshape(1) if input.ndim == 0 else input)
    return found.unbind(1)


@_method
def argwhere(input):  # noqa: A002
    """nonzero()."""
    return _nonzero(input)


def where(condition, input=None, other=None):  # noqa: A002
    """input where the bool condition holds, else other; of a condition alone its places."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    return _where_of(condition, input, other)


def _where_method(input, condition, other):  # noqa: A002
    """input where the bool condition holds, else other."""
    return _where_of(condition, input, other)


setattr(_Tensor, "where", _where_method)


@_method
def masked_scatter(input, mask, source):  # noqa: A002
    """input with the values of `source`, in order, where the bool mask holds."""
    mask = mask.expand(*input.shape)
    count = int(mask.sum())
    if source.numel() < count:
        raise _refuse("masked_scatter", f"a source of at least {count} values", source.numel())
    places = _nonzero(mask.flatten())[:, 0]
    given = source.flatten()[:count].to(input.dtype)
    return input.flatten().index_copy(0, places, given).reshape(input.shape)


def _part_of(src, index):
    """The part of a wider source that an index speaks of."""
    if not isinstance(src, _Tensor) or src.ndim != index.ndim:
        return src
    if any(have < want for have, want in zip(src.shape, index.shape)):
        raise _refuse("scatter", f"a source of at least {list(index.shape)}", list(src.shape))
    return src[tuple(slice(0, length) for length in index.shape)]


@_method
def scatter(input, dim, index, src=None, *, value=None, reduce=None):  # noqa: A002
    """input with `src` written at [.., index[.., j, ..], ..]; reduce 'add' or 'multiply' combines
    it with what is there."""
    given = value if src is None else src
    if given is None:
        raise TypeError("scatter() misses the argument 'src'")
    given = _part_of(given, index)
    if reduce is None:
        return _scatter(input, dim, index, given)
    if reduce == "add":
        return _scatter_add(input, dim, index, given)
    if reduce == "multiply":
        spread = given if isinstance(given, _Tensor) else input.new_full(index.shape, given)
        return scatter_reduce(input, dim, index, spread, "prod")
    raise _refuse("scatter", "reduce 'add' or 'multiply'", repr(reduce))


@_method
def scatter_add(input, dim, index, src):  # noqa: A002
    """input with `src` added at [.., index[.., j, ..], ..]."""
    return _scatter_add(input, dim, index, _part_of(src, index))


def _extreme_at(input, dim, index, src, largest):  # noqa: A002
    """The extremes at each place by rounds: the k-th value for a place in round k."""
    order = src.argsort(dim, descending=not largest)  # the last write wins: the extreme one
    return _scatter(input, dim, index.gather(dim, order), src.gather(dim, order))


def _product_at(input, dim, index, src):  # noqa: A002
    places = index.movedim(dim, 0)
    parts = src.movedim(dim, 0)
    for k in range(places.shape[0]):
        at = places[k:k + 1].movedim(0, dim)
        now = input.gather(dim, at) * parts[k:k + 1].movedim(0, dim)
        input = _scatter(input, dim, at, now)  # noqa: A001
    return input


@_method
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):  # noqa: A002
    """input with the sum, prod, mean, amax or amin of what `src` has for each place."""
    src = _part_of(src, index)
    ones = _core.ones_like(src)
    count = _scatter_add(input.detach() * 0, dim, index, ones.detach())
    if reduce in ("sum", "mean"):
        start = input if include_self else _where_of(count > 0, 0, input)
        total = _scatter_add(start, dim, index, src)
        if reduce == "sum":
            return total
        count = (count + 1 if include_self else count).clamp(min=1)
        return total / count if input.is_floating_point() else total // count
    if reduce == "prod":
        start = input if include_self else _where_of(count > 0, 1, input)
        return _product_at(start, dim, index, src)
    if reduce not in ("amax", "amin"):
        raise _refuse("scatter_reduce", "reduce sum, prod, mean, amax or amin", repr(reduce))
    found = _extreme_at(input, dim, index, src, reduce == "amax")
    if not include_self:
        return found
    pick = _core.maximum if reduce == "amax" else _core.minimum
    return _where_of(count > 0, pick(found, input), input)


@_method
def index_put(input, indices, values, accumulate=False):  # noqa: A002
    """input with `values` written, or added, at index arrays."""
    if not accumulate:
        result = input.clone()
        result[tuple(indices)] = values
        return result
    count = input.numel()
    places = _core.arange(count).reshape(tuple(input.shape))[tuple(indices)]
    given = values if isinstance(values, _Tensor) else input.new_full((), values)
    spread = given.to(input.dtype).expand(*places.shape).flatten()
    return input.flatten().index_add(0, places.flatten(), spread).reshape(tuple(input.shape))


@_method
def index_fill(input, dim, index, value):  # noqa: A002
    """input with one value in the slices index[0], index[1], ..."""
    fill = value if isinstance(value, _Tensor) else input.new_full((), value)
    shape = [*input.shape]
    shape[dim] = index.numel()
    return input.index_copy(dim, index.flatten(), fill.to(input.dtype).expand(*shape))


@_method
def take_along_dim(input, indices, dim=None):  # noqa: A002
    """gather() with an index that broadcasts; of all values as one row without `dim`."""
    if dim is None:
        return input.flatten().gather(0, indices.flatten())
    place = _axes_in("take_along_dim", dim, input.ndim)[0]
    from weft._names.shapes import broadcast_shapes

    shape = list(broadcast_shapes([n if i != place else 1 for i, n in enumerate(input.shape)],
                                  [n if i != place else 1 for i, n in enumerate(indices.shape)]))
    source, at = list(shape), list(shape)
    source[place], at[place] = input.shape[place], indices.shape[place]
    return input.expand(*source).gather(place, indices.expand(*at))


@_method
def bincount(input, weights=None, minlength=0):  # noqa: A002
    """How often each of 0, 1, ... comes, or the sums of the weights."""
    if weights is None:
        return _bincount(input, minlength)
    count = max(minlength, int(input.max()) + 1 if input.numel() else 0)
    if input.numel() and int(input.min()) < 0:
        raise _refuse("bincount", "numbers >= 0", int(input.min()))
    kind = weights.dtype if weights.dtype is _core.float32 else _core.float64
    return _core.zeros(count, dtype=kind).index_add(0, input, weights.to(kind))


@_method
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):  # noqa: A002
    """The values, sorted, each once; with `dim` the slices."""
    if dim is None:
        return _unique(input, return_inverse=return_inverse, return_counts=return_counts)
    slices = input.movedim(dim, 0)
    keys = [tuple(each) for each in slices.reshape(slices.shape[0], -1).tolist()]
    order = {key: i for i, key in enumerate(_in_order(set(keys)))}
    first = {key: keys.index(key) for key in order}
    inverse = _core.tensor([order[key] for key in keys], dtype=_core.int64)
    found = input.index_select(dim, _core.tensor([first[key] for key in order],
                                                 dtype=_core.int64))
    extras = [inverse] * return_inverse
    extras += [_bincount(inverse, len(order))] * return_counts
    return (found, *extras) if extras else found


@_method
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):  # noqa: A002
    """Each run of equal values once; with `dim` of equal slices."""
    rows = input.flatten().unsqueeze(1) if dim is None else input.movedim(dim, 0)
    rows = rows.reshape(rows.shape[0], -1)
    if rows.shape[0] == 0:
        found, extras = (input.flatten() if dim is None else input), [
            _core.zeros(0, dtype=_core.int64)] * (return_inverse + return_counts)
        return (found, *extras) if extras else found
    new = (rows[1:] != rows[:-1]).any(1)
    begins = _core.cat([_core.zeros(1, dtype=_core.int64), _nonzero(new)[:, 0] + 1])
    found = (input.flatten()[begins] if dim is None else input.index_select(dim, begins))
    extras = []
    if return_inverse:
        inverse = _core.cat([_core.zeros(1, dtype=_core.int64), new.long()]).cumsum(0)
        extras.append(inverse.reshape(tuple(input.shape)) if dim is None else inverse)
    if return_counts:
        ends = _core.cat([begins[1:], _core.tensor([rows.shape[0]])])
        extras.append(ends - begins)
    return (found, *extras) if extras else found
