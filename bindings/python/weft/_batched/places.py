"""Rules of functions that read and write places: gather, scatter, and what they are made of."""
from weft import _core
from weft._batched.table import axis_of, has, is_tensor, looped, no_rule, rule
from weft._batched.table import values, wrap


def _with_axis(level, *tensors):
    """The samples of each; those that are single values with an axis of length 1."""
    return [each if each.ndim > 1 else each.unsqueeze(1)
            for each in (values(level, x) for x in tensors)]


def _as_given(level, found, ndim):
    return wrap(level, found if ndim else found.squeeze(1))


@rule("gather")
def _gather(level, input, dim, index):  # noqa: A002
    axis = axis_of("gather", dim, input.ndim)
    x, at = _with_axis(level, input, index)
    return _as_given(level, _core.gather(x, axis + 1, at), index.ndim)


def _scatter(name):
    compute = getattr(_core, name)

    @rule(name)
    def run(level, input, dim, index, src):  # noqa: A002
        axis = axis_of(name, dim, input.ndim)
        if not is_tensor(src):
            x, at = _with_axis(level, input, index)
            return _as_given(level, compute(x, axis + 1, at, src), input.ndim)
        x, at, given = _with_axis(level, input, index, src)
        return _as_given(level, compute(x, axis + 1, at, given), input.ndim)


_scatter("scatter")
_scatter("scatter_add")


def _spread(level, index, axis, shape):
    """A row of places along `axis`, of each sample, beside all others of a sample's `shape`."""
    at = values(level, index).reshape(level.size, *[1] * axis, -1, *[1] * (len(shape) - axis - 1))
    return at.expand(level.size, *shape[:axis], index.numel(), *shape[axis + 1:])


@rule("index_select")
def _index_select(level, input, dim, index):  # noqa: A002
    axis = axis_of("index_select", dim, input.ndim)
    if index.ndim > 1:
        raise _core.InvalidArgumentError(
            f"[index_select] expected an index of one axis, got shape {list(index.shape)}")
    if not has(level, index) and input.ndim:
        return wrap(level, _core.index_select(values(level, input), axis + 1, index))
    if input.ndim == 0:
        return input if has(level, input) else wrap(level, values(level, input))
    at = _spread(level, index, axis, tuple(input.shape))
    return wrap(level, _core.gather(values(level, input), axis + 1, at))


def _slices(name, by_place):
    compute = getattr(_core, name)

    @rule(name)
    def run(level, input, dim, index, src):  # noqa: A002
        if input.ndim == 0 or not is_tensor(src):
            no_rule(name, "give it tensors of at least one axis")
        axis = axis_of(name, dim, input.ndim)
        if not has(level, index):
            return wrap(level, compute(values(level, input), axis + 1, index, values(level, src)))
        shape = tuple(input.shape)
        given = values(level, src).expand(level.size, *shape[:axis], index.numel(),
                                          *shape[axis + 1:])
        return wrap(level, by_place(values(level, input), axis + 1,
                                    _spread(level, index, axis, shape), given))


_slices("index_add", _core.scatter_add)
_slices("index_copy", _core.scatter)


@rule("searchsorted")
def _searchsorted(level, sorted_sequence, values, *, right=False):
    if has(level, sorted_sequence):
        return looped("searchsorted")(level, sorted_sequence, values, right=right)
    return wrap(level, _core.searchsorted(sorted_sequence, values._value, right=right))


@rule("one_hot")
def _one_hot(level, input, num_classes=-1):  # noqa: A002
    if num_classes == -1:
        raise _core.InvalidArgumentError(
            "[one_hot] expected num_classes within vmap(), as the largest label may differ by "
            "sample")
    return wrap(level, _core.one_hot(values(level, input), num_classes))


@rule("embedding")
def _embedding(level, input, weight, padding_idx=None):  # noqa: A002
    if not has(level, weight):
        return wrap(level, _core.embedding(values(level, input), weight, padding_idx))
    count = weight.shape[0]
    first = _core.arange(level.size) * count
    rows = values(level, input)
    flat = weight._value.reshape(level.size * count, *weight.shape[1:])
    found = _core.embedding(rows + first.reshape(level.size, *[1] * input.ndim), flat)
    if padding_idx is not None:
        found = _core.where((rows == padding_idx).unsqueeze(-1), found.detach(), found)
    return wrap(level, found)
