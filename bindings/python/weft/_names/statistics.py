"""Differences, integrals, shares and counts of values: gradient(), histogram(), nanquantile()."""
import math as _math

from weft import _core
from weft._names._table import Tensor as _Tensor, axes_in as _axes_in, method as _method
from weft._names._table import refuse as _refuse, require_tensor as _require_tensor

_types = _core._return_types


def _beside(steps, dim, ndim):
    """A vector that lies along one of `ndim` axes."""
    return steps.reshape([-1 if i == dim else 1 for i in range(ndim)])


@_method
def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """trapezoid() up to each value, but the first."""
    _require_tensor("cumulative_trapezoid", y, "y")
    dim = _axes_in("cumulative_trapezoid", dim, y.ndim)[0]
    count = y.shape[dim] - 1
    mean = (y.narrow(dim, 1, count) + y.narrow(dim, 0, count)) / 2
    if x is None:
        return (mean * dx).cumsum(dim)
    along = dim if x.ndim == y.ndim else -1
    steps = x.narrow(along, 1, count) - x.narrow(along, 0, count)
    return (mean * (steps if x.ndim == y.ndim else _beside(steps, dim, y.ndim))).cumsum(dim)


def _slope_along(x, spacing, dim, edge_order):
    """The slope along one axis: differences over both neighbours, at the ends over one, or, of
    edge_order 2, those of the parabola through three values. Fornberg, 1988, for unequal steps."""
    length = x.shape[dim]
    if length < edge_order + 1:
        raise _refuse("gradient", f"at least {edge_order + 1} values along each axis", length)
    values = x if x.is_floating_point() else x.to(_core.get_default_dtype())
    steps = (spacing[1:] - spacing[:-1] if isinstance(spacing, _Tensor)
             else _core.full((length - 1,), float(spacing), dtype=values.dtype)).to(values.dtype)
    slopes = (values.narrow(dim, 1, length - 1) - values.narrow(dim, 0, length - 1)) / _beside(
        steps, dim, x.ndim)
    first, last = slopes.narrow(dim, 0, 1), slopes.narrow(dim, length - 2, 1)
    if length == 2:
        return _core.cat([first, last], dim)
    before, after = (_beside(each, dim, x.ndim) for each in (steps[:-1], steps[1:]))
    left, right = slopes.narrow(dim, 0, length - 2), slopes.narrow(dim, 1, length - 2)
    inner = (left * after + right * before) / (before + after)
    if edge_order == 2:
        first = _end_slope(slopes, steps, dim, 0, 1)
        last = _end_slope(slopes, steps, dim, length - 2, length - 3)
    return _core.cat([first, inner, last], dim)


def _end_slope(slopes, steps, dim, end, next_to_it):
    """At an end of the parabola through the three values of two steps."""
    outer, inner = steps[end].item(), steps[next_to_it].item()
    change = (slopes.narrow(dim, end, 1) - slopes.narrow(dim, next_to_it, 1)) / (outer + inner)
    return slopes.narrow(dim, end, 1) + change * outer


def gradient(input, *, spacing=1, dim=None, edge_order=1):  # noqa: A002
    """The slopes along each axis of `dim`, all of them without it: a tuple.

    spacing: the step of all axes, or for each axis its step or a tensor of coordinates."""
    _require_tensor("gradient", input)
    if edge_order not in (1, 2):
        raise _refuse("gradient", "edge_order 1 or 2", edge_order)
    axes = _axes_in("gradient", list(range(input.ndim)) if dim is None else dim, input.ndim)
    given = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * len(axes)
    if len(given) != len(axes):
        raise _refuse("gradient", f"spacing for each of {len(axes)} axes", len(given))
    for axis, each in zip(axes, given):
        if isinstance(each, _Tensor) and tuple(each.shape) != (input.shape[axis],):
            raise _refuse("gradient", f"{input.shape[axis]} coordinates along axis {axis}",
                          f"shape {list(each.shape)}")
    return tuple(_slope_along(input, each, axis, edge_order) for axis, each in zip(axes, given))


@_method
def histogram(input, bins, *, range=None, weight=None, density=False):  # noqa: A002
    """(hist, bin_edges): how many values, or what weight of them, fall into each bin; of `bins`
    equal ones over `range`, that of the values without it, or between edges."""
    if not _require_tensor("histogram", input).is_floating_point():
        raise _refuse("histogram", "floating values", input.dtype)
    flat = input.detach().flatten()
    if isinstance(bins, _Tensor):
        edges = bins.to(input.dtype)
        if edges.ndim != 1 or edges.numel() < 2:
            raise _refuse("histogram", "bins as at least two edges", f"shape {list(edges.shape)}")
    else:
        if not hasattr(bins, "__index__") or bins < 1:
            raise _refuse("histogram", "bins of at least 1", bins)
        low, high = range or ((flat.min().item(), flat.max().item()) if flat.numel() else (0, 1))
        if not (_math.isfinite(low) and _math.isfinite(high) and low <= high):
            raise _refuse("histogram", "a finite range (low, high)", (low, high))
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        edges = _core.linspace(low, high, bins + 1, dtype=input.dtype)
    inside = (flat >= edges[0]) & (flat <= edges[-1])
    places = _core.searchsorted(edges, flat[inside].contiguous(), right=True) - 1
    shares = _core.ones_like(flat) if weight is None else weight.detach().flatten().to(flat.dtype)
    if shares.shape != flat.shape:
        raise _refuse("histogram", f"a weight of shape {list(input.shape)}", list(weight.shape))
    count = edges.numel() - 1
    found = _core.zeros(count, dtype=flat.dtype).index_add(0, places.clamp(0, count - 1),
                                                           shares[inside])
    if density:
        found = found / found.sum() / (edges[1:] - edges[:-1])
    return _types["histogram"]((found, edges))


@_method
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):  # noqa: A002
    """quantile() of what is no NaN; a NaN where there is nothing else."""
    share = q if isinstance(q, _Tensor) else _core.tensor(q, dtype=_require_tensor(
        "nanquantile", input).dtype)
    if share.dtype is not input.dtype or not input.is_floating_point():
        raise _refuse("nanquantile", "floating tensors of one type", f"{input.dtype}, {share.dtype}")
    if bool(((share < 0) | (share > 1)).any()):
        raise _refuse("nanquantile", "q in [0, 1]", q)
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise _refuse("nanquantile", "interpolation linear, lower, higher, midpoint or nearest",
                      interpolation)
    axis = None if dim is None else _axes_in("nanquantile", dim, input.ndim)[0]
    rows = (input.flatten() if axis is None else input.movedim(axis, -1)).sort(-1)[0]  # NaN last
    last = (~_core.isnan(rows)).sum(-1, True).clamp(min=1) - 1
    at = share.flatten() * last
    low, high = at.floor(), at.ceil()
    if interpolation in ("lower", "higher", "nearest"):
        low = {"lower": low, "higher": high, "nearest": at.round()}[interpolation]
    found = rows.gather(-1, low.long())
    if interpolation in ("linear", "midpoint"):
        way = at - low if interpolation == "linear" else (high != low).to(at.dtype) / 2
        found = found + (rows.gather(-1, high.long()) - found) * way
    found = found.movedim(-1, 0)
    if keepdim:
        found = (found.reshape([found.shape[0]] + [1] * input.ndim) if axis is None
                 else found.unsqueeze(1 + axis))
    return found if share.ndim else found[0]
