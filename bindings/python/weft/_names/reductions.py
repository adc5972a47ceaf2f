"""Fewer values of many: what is made of the native sums, extremes and orders."""
import math as _math

from weft import _core
from weft._names._table import Tensor as _Tensor, axes_in as _axes_in, method as _method
from weft._names._table import refuse as _refuse, require_tensor as _require_tensor

_types = _core._return_types


def _without(x, dim, keepdim):
    return x if keepdim else x.squeeze(dim)


@_method
def var_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=None):  # noqa: A002
    """(var(), mean())."""
    return (_core.var(input, dim, unbiased, keepdim, correction=correction),
            input.mean(dim, keepdim))


@_method
def std_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=None):  # noqa: A002
    """(std(), mean())."""
    return (_core.std(input, dim, unbiased, keepdim, correction=correction),
            input.mean(dim, keepdim))


@_method
def aminmax(input, *, dim=None, keepdim=False):  # noqa: A002
    """The smallest and the largest value, as .min and .max."""
    if dim is None:
        return _types["aminmax"]((input.amin(), input.amax()))
    return _types["aminmax"]((input.amin(dim, keepdim), input.amax(dim, keepdim)))


@_method
def nansum(input, dim=None, keepdim=False, *, dtype=None):  # noqa: A002
    """sum() with 0 for each NaN."""
    return _core.where(_core.isnan(input), 0, input).sum(dim, keepdim, dtype=dtype)


@_method
def nanmean(input, dim=None, keepdim=False, *, dtype=None):  # noqa: A002
    """mean() of what is no NaN."""
    count = (~_core.isnan(input)).sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


def _along_last(input, dim):  # noqa: A002
    """The axis as the last one; all values as one row where it is None."""
    return input.flatten() if dim is None else input.movedim(dim, -1)


@_method
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):  # noqa: A002
    """The values below which the shares `q` of all lie."""
    _require_tensor("quantile", input)
    share = q if isinstance(q, _Tensor) else _core.tensor(q, dtype=input.dtype)
    if share.dtype is not input.dtype or not input.is_floating_point():
        raise _refuse("quantile", "floating tensors of one type", f"{input.dtype}, {share.dtype}")
    if bool(((share < 0) | (share > 1)).any()):
        raise _refuse("quantile", "q in [0, 1]", q)
    rows = _along_last(input, dim).sort(-1)[0]
    length = rows.shape[-1]
    at = share.flatten() * (length - 1)
    low = {"linear": at.floor(), "midpoint": at.floor(), "lower": at.floor(),
           "higher": at.ceil(), "nearest": at.round()}.get(interpolation)
    if low is None:
        raise _refuse("quantile", "interpolation linear, lower, higher, midpoint or nearest",
                      interpolation)
    found = rows.index_select(-1, low.long())
    if interpolation in ("linear", "midpoint"):
        way = at - low if interpolation == "linear" else (at != low).to(at.dtype) / 2
        found = found + (rows.index_select(-1, at.ceil().long()) - found) * way
    found = _core.where(_core.isnan(rows).any(-1, True), _math.nan, found)
    found = found.movedim(-1, 0)
    if keepdim:
        found = (found.reshape([found.shape[0]] + [1] * input.ndim) if dim is None
                 else found.unsqueeze(1 + _axes_in("quantile", dim, input.ndim)[0]))
    return found if share.ndim else found[0]


@_method
def nanmedian(input, dim=None, keepdim=False):  # noqa: A002
    """median() of what is no NaN; a NaN where there is nothing else."""
    rows = _along_last(input, dim)
    values, places = rows.sort(-1)  # NaN last
    count = (~_core.isnan(rows)).sum(-1, True)
    middle = ((count - 1) // 2).clamp(min=0)
    if dim is None:
        return values.gather(-1, middle)[0]
    found = values.gather(-1, middle), places.gather(-1, middle)
    return _types["nanmedian"](_without(each.movedim(-1, dim), dim, keepdim) for each in found)


@_method
def mode(input, dim=-1, keepdim=False):  # noqa: A002
    """The most frequent value along `dim`, of equally frequent ones the smallest."""
    _require_tensor("mode", input)
    if input.ndim == 0:
        return _types["mode"]((input, _core.zeros((), dtype=_core.int64)))
    rows = input.movedim(dim, -1)
    places = _core._most_frequent(rows).unsqueeze(-1)
    found = rows.gather(-1, places), places
    return _types["mode"](_without(each.movedim(-1, dim), dim, keepdim) for each in found)


def _running(name, input, dim, largest):  # noqa: A002
    _require_tensor(name, input)
    _axes_in(name, dim, input.ndim)
    places = _core._running_extreme(input, dim, largest)
    values = input.gather(dim, places) if input.ndim else input
    return _types[name]((values, places))


@_method
def cummax(input, dim):  # noqa: A002
    """(values, indices): the largest value along `dim` so far."""
    return _running("cummax", input, dim, True)


@_method
def cummin(input, dim):  # noqa: A002
    """(values, indices): the smallest value along `dim` so far."""
    return _running("cummin", input, dim, False)


@_method
def logcumsumexp(input, dim):  # noqa: A002
    """log of the running sums of e^x, without overflow."""
    largest = cummax(input.detach(), dim)[0]
    steps = [0] * input.ndim
    length = input.shape[dim] if input.ndim else 1
    if length == 0 or not steps:
        return input.clone()
    # Each place compared with all before it, relative to the largest so far.
    row = input.movedim(dim, -1).unsqueeze(-2)
    top = largest.movedim(dim, -1).unsqueeze(-1)
    top = _core.where(_core.isfinite(top), top, 0.0)
    later = _core.ones(length, length).triu(1).bool()
    summed = (row - top).masked_fill(later, -_math.inf).exp().sum(-1)
    return (summed.log() + top.squeeze(-1)).movedim(-1, dim)


@_method
def diff(input, n=1, dim=-1, prepend=None, append=None):  # noqa: A002
    """Each value less the one before it, n times."""
    parts = [each for each in (prepend, input, append) if each is not None]
    found = _core.cat(parts, dim) if len(parts) > 1 else input
    for _ in range(n):
        length = found.shape[dim]
        if length == 0:
            break
        later, earlier = found.narrow(dim, 1, length - 1), found.narrow(dim, 0, length - 1)
        found = later ^ earlier if found.dtype is getattr(_core, "bool") else later - earlier
    return found


@_method
def dist(input, other, p=2):  # noqa: A002
    """The norm of the difference."""
    return (input - other).norm(p)


@_method
def renorm(input, p, dim, maxnorm):  # noqa: A002
    """Slices along `dim` scaled down to the norm `maxnorm` at most."""
    others = [axis for axis in range(input.ndim) if axis != dim % input.ndim]
    sizes = input.norm(p, others, True)
    return input * _core.where(sizes > maxnorm, maxnorm / (sizes + 1e-7), 1.0)


@_method
def histc(input, bins=100, min=0, max=0):  # noqa: A002
    """How many values fall into each of `bins` equal parts of [min, max]."""
    if not input.is_floating_point():
        raise _refuse("histc", "floating values", input.dtype)
    if bins < 1:
        raise _refuse("histc", "bins of at least 1", bins)
    if min == max and input.numel():
        min, max = input.min().item(), input.max().item()  # noqa: A001
        if min == max:
            min, max = min - 1, max + 1  # noqa: A001
    if not (_math.isfinite(min) and _math.isfinite(max) and min < max):
        raise _refuse("histc", "finite min < max", f"{min} and {max}")
    inside = input[(input >= min) & (input <= max)]
    place = ((inside - min) * bins / (max - min)).long().clamp(max=bins - 1)
    return _core.bincount(place, minlength=bins).to(input.dtype)


@_method
def cov(input, *, correction=1, fweights=None, aweights=None):  # noqa: A002
    """The covariances of rows, whose columns are observations."""
    if fweights is not None or aweights is not None:
        raise _refuse("cov", "no weights", "fweights or aweights")
    rows = input.reshape(1, -1) if input.ndim < 2 else input
    off = rows - rows.mean(1, True)
    found = off @ off.t() / (rows.shape[1] - correction)
    return found.reshape(()) if input.ndim < 2 else found


@_method
def corrcoef(input):  # noqa: A002
    """The coefficients of correlation of rows."""
    found = cov(input)
    if input.ndim < 2:
        return found / found
    scale = found.diagonal().sqrt()
    return (found / scale[:, None] / scale[None, :]).clamp(-1, 1)


@_method
def msort(input):  # noqa: A002
    """The values sorted along the first axis."""
    return input.sort(0)[0]


@_method
def bucketize(input, boundaries, *, out_int32=False, right=False):  # noqa: A002
    """int64: between which of the sorted boundaries each value lies."""
    values = input if isinstance(input, _Tensor) else _core.tensor(input)
    if boundaries.ndim != 1:
        raise _refuse("bucketize", "boundaries of one axis", f"shape {list(boundaries.shape)}")
    found = _core.searchsorted(boundaries, values, right=right)
    return found.int() if out_int32 else found


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """bool: whether each element is among the others."""
    values, others = (each if isinstance(each, _Tensor) else _core.tensor(each)
                      for each in (elements, test_elements))
    found = (values.unsqueeze(-1) == others.flatten()).any(-1)
    return ~found if invert else found
