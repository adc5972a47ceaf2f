"""Rules of functions along axes of one sample: sums, extremes, orders, running values."""
from weft import _core
from weft._batched.table import axis_of, is_tensor, native, no_rule, rule, values, wrap


def _axes(name, dim, ndim):
    """The axes in memory: all of one sample for None."""
    if dim is None or dim == () or dim == []:
        return list(range(1, ndim + 1))
    wanted = [dim] if hasattr(dim, "__index__") else list(dim)
    return [1 + axis_of(name, axis, ndim) for axis in wanted]


def _given(level, x):
    """The samples, with an axis of length 1 where each is a single value."""
    value = values(level, x)
    return value if value.ndim > 1 else value.unsqueeze(1)


def _reduction(name):
    compute = native(name)

    def run(level, input, dim=None, keepdim=False, **more):  # noqa: A002
        axes = _axes(name, dim, max(input.ndim, 1))
        found = compute(_given(level, input), axes, keepdim and input.ndim > 0, **more)
        return wrap(level, found)

    rule(name)(run)


for _name in ("sum mean prod amax amin logsumexp any all count_nonzero").split():
    _reduction(_name)


def _spread(name):
    compute = native(name)

    def run(level, input, dim=None, unbiased=True, keepdim=False, *, correction=None):  # noqa: A002
        axes = _axes(name, dim, max(input.ndim, 1))
        return wrap(level, compute(_given(level, input), axes, unbiased, keepdim and input.ndim > 0,
                                   correction=correction))

    rule(name)(run)


_spread("var")
_spread("std")


@rule("norm")
def _norm(level, input, p=2.0, dim=None, keepdim=False, dtype=None):  # noqa: A002
    axes = _axes("norm", dim, max(input.ndim, 1))
    return wrap(level, _core.norm(_given(level, input), p, axes, keepdim and input.ndim > 0, dtype))


def _along(name, default=None):
    """name(input, dim, ...), whose results have the axes of the input."""
    compute = native(name)

    def run(level, input, dim=default, *more, **keywords):  # noqa: A002
        axis = axis_of(name, dim, input.ndim)
        if input.ndim:
            return wrap(level, compute(values(level, input), axis + 1, *more, **keywords))
        return wrap(level, _without_axis(compute(_given(level, input), 1, *more, **keywords)))

    rule(name)(run)


def _without_axis(found):
    """Results without the axis of length 1 that samples of a single value got."""
    if isinstance(found, tuple):
        made = [_without_axis(each) for each in found]
        return tuple(made) if type(found) is tuple else type(found)(made)
    return found.squeeze(1) if found.ndim > 1 else found


for _name in ("cumsum", "cumprod", "softmax", "log_softmax", "_running_extreme"):
    _along(_name)
for _name in ("sort", "argsort"):
    _along(_name, -1)


def _chosen(name):
    compute = native(name)

    def run(level, input, k, dim=-1, *more, **keywords):  # noqa: A002
        axis = axis_of(name, dim, input.ndim)
        if input.ndim:
            return wrap(level, compute(values(level, input), k, axis + 1, *more, **keywords))
        return wrap(level, _without_axis(compute(_given(level, input), k, 1, *more, **keywords)))

    rule(name)(run)


_chosen("topk")
_chosen("kthvalue")


@rule("_most_frequent")
def _most_frequent(level, input):  # noqa: A002
    return wrap(level, _core._most_frequent(values(level, input)))


def _row(level, input):  # noqa: A002
    """All values of each sample as one row."""
    value = values(level, input)
    return value.unsqueeze(1) if value.ndim == 1 else value.flatten(1)


def _place(name):
    compute = native(name)

    def run(level, input, dim=None, keepdim=False):  # noqa: A002
        if dim is None:
            return wrap(level, compute(_row(level, input), 1))
        axis = axis_of(name, dim, input.ndim)
        return wrap(level, compute(_given(level, input), axis + 1, keepdim and input.ndim > 0))

    rule(name)(run)


_place("argmax")
_place("argmin")


def _extreme(name, of_all, pairwise):
    compute = native(name)

    def run(level, input, dim=None, keepdim=False):  # noqa: A002
        if is_tensor(dim):
            return pairwise(input, dim)
        if dim is None:
            return wrap(level, of_all(_given(level, input), _axes(name, None, max(input.ndim, 1))))
        axis = axis_of(name, dim, input.ndim)
        return wrap(level, compute(_given(level, input), axis + 1, keepdim and input.ndim > 0))

    rule(name)(run)


_extreme("max", _core.amax, _core.maximum)
_extreme("min", _core.amin, _core.minimum)


@rule("median")
def _median(level, input, dim=None, keepdim=False):  # noqa: A002
    if dim is None:
        return wrap(level, _core.median(_row(level, input), 1).values)
    axis = axis_of("median", dim, input.ndim)
    return wrap(level, _core.median(_given(level, input), axis + 1, keepdim and input.ndim > 0))


@rule("trace")
def _trace(level, input):  # noqa: A002
    if input.ndim != 2:
        raise _core.InvalidArgumentError(
            f"[trace] expected a matrix, got shape {list(input.shape)}")
    return wrap(level, _core.diagonal(values(level, input), 0, 1, 2).sum(-1))


def _of_unknown_size(*names):
    for name in names:
        def run(level, *args, _name=name, **keywords):
            no_rule(_name, "how many values it gives depends on the values of each sample. Use "
                    "masks (weft.where, masked_fill), or call it after vmap()")

        rule(name)(run)


_of_unknown_size("nonzero", "unique", "masked_select", "bincount")
