"""Rules of functions that move values: views, joins, parts."""
import math

from weft import _core
from weft._batched.table import axis_of, has, rule, sizes_of, values, wrap

Tensor = _core.Tensor


def _refuse(name, expected, got):
    return _core.InvalidArgumentError(f"[{name}] expected {expected}, got {got}")


def _whole(name, sizes, count):
    """Sizes with the one that is -1 found out."""
    sizes = [int(each) for each in sizes]
    if sizes.count(-1) == 1:
        known = math.prod(each for each in sizes if each != -1)
        if known == 0 or count % known:
            raise _refuse(name, f"sizes of {count} elements", sizes)
        sizes[sizes.index(-1)] = count // known
    if math.prod(sizes) != count or any(each < 0 for each in sizes):
        raise _refuse(name, f"sizes of {count} elements", sizes)
    return sizes


def _reshaping(name):
    def run(level, input, *sizes, shape=None):  # noqa: A002
        wanted = _whole(name, sizes_of(sizes) if shape is None else list(shape), input.numel())
        return wrap(level, values(level, input).reshape(level.size, *wanted))

    rule(name)(run)


_reshaping("reshape")
_reshaping("view")


@rule("view_as")
def _view_as(level, input, other):  # noqa: A002
    return input.reshape(*other.shape)


@rule("flatten")
def _flatten(level, input, start_dim=0, end_dim=-1):  # noqa: A002
    if input.ndim == 0:
        return wrap(level, values(level, input).unsqueeze(1))
    first = axis_of("flatten", start_dim, input.ndim)
    last = axis_of("flatten", end_dim, input.ndim)
    return wrap(level, values(level, input).flatten(first + 1, last + 1))


@rule("squeeze")
def _squeeze(level, input, dim=None):  # noqa: A002
    if dim is None:
        kept = [length for length in input.shape if length != 1]
        return wrap(level, values(level, input).reshape(level.size, *kept))
    axis = axis_of("squeeze", dim, input.ndim)
    return wrap(level, values(level, input).squeeze(axis + 1)) if input.ndim else input


@rule("unsqueeze")
def _unsqueeze(level, input, dim):  # noqa: A002
    return wrap(level, values(level, input).unsqueeze(axis_of("unsqueeze", dim, input.ndim + 1) + 1))


@rule("transpose")
def _transpose(level, input, dim0, dim1):  # noqa: A002
    axes = [axis_of("transpose", dim, input.ndim) + 1 for dim in (dim0, dim1)]
    return wrap(level, values(level, input).transpose(*axes)) if input.ndim else input


@rule("t")
def _t(level, input):  # noqa: A002
    if input.ndim > 2:
        raise _refuse("t", "at most 2 axes: use transpose()", f"shape {list(input.shape)}")
    return wrap(level, values(level, input).transpose(1, 2)) if input.ndim == 2 else input


@rule("permute")
def _permute(level, input, *dims, **keywords):  # noqa: A002
    dims = sizes_of(dims) if dims else list(keywords["dims"])
    axes = [axis_of("permute", dim, input.ndim) + 1 for dim in dims]
    return wrap(level, values(level, input).permute(0, *axes))


@rule("movedim")
def _movedim(level, input, source, destination):  # noqa: A002
    def moved(dims):
        listed = [dims] if hasattr(dims, "__index__") else list(dims)
        return [axis_of("movedim", dim, input.ndim) + 1 for dim in listed]

    if input.ndim == 0:
        return input
    return wrap(level, values(level, input).movedim(moved(source), moved(destination)))


@rule("expand")
def _expand(level, input, *sizes):  # noqa: A002
    wanted = sizes_of(sizes)
    missing = len(wanted) - input.ndim
    if missing < 0:
        raise _refuse("expand", f"at least {input.ndim} sizes", wanted)
    value = values(level, input)
    if missing:
        value = value.reshape(level.size, *[1] * missing, *input.shape)
    return wrap(level, value.expand(level.size, *wanted))


@rule("expand_as")
def _expand_as(level, input, other):  # noqa: A002
    found = input if has(level, input) else wrap(level, values(level, input))
    return found.expand(*other.shape)


@rule("repeat")
def _repeat(level, input, *repeats):  # noqa: A002
    counts = sizes_of(repeats)
    missing = len(counts) - input.ndim
    if missing < 0:
        raise _refuse("repeat", f"at least {input.ndim} numbers", counts)
    value = values(level, input)
    if missing:
        value = value.reshape(level.size, *[1] * missing, *input.shape)
    return wrap(level, value.repeat(1, *counts))


@rule("tile")
def _tile(level, input, dims):  # noqa: A002
    counts = [dims] if hasattr(dims, "__index__") else list(dims)
    return input.repeat(*[1] * (input.ndim - len(counts)), *counts)


@rule("repeat_interleave")
def _repeat_interleave(level, input, repeats, dim):  # noqa: A002
    axis = axis_of("repeat_interleave", dim, input.ndim)
    return wrap(level, _core.repeat_interleave(values(level, input), repeats, axis + 1))


@rule("diagonal")
def _diagonal(level, input, offset=0, dim1=0, dim2=1):  # noqa: A002
    axes = [axis_of("diagonal", dim, input.ndim) + 1 for dim in (dim1, dim2)]
    return wrap(level, _core.diagonal(values(level, input), offset, *axes))


@rule("diag")
def _diag(level, input, diagonal=0):  # noqa: A002
    if input.ndim not in (1, 2):
        raise _refuse("diag", "1 or 2 axes", f"shape {list(input.shape)}")
    return input.diag_embed(diagonal) if input.ndim == 1 else input.diagonal(diagonal)


def _triangle(name):
    compute = getattr(_core, name)

    def run(level, input, diagonal=0):  # noqa: A002
        if input.ndim < 2:
            raise _refuse(name, "at least 2 axes", f"shape {list(input.shape)}")
        return wrap(level, compute(values(level, input), diagonal))

    rule(name)(run)


_triangle("tril")
_triangle("triu")


@rule("flip")
def _flip(level, input, dims):  # noqa: A002
    listed = [dims] if hasattr(dims, "__index__") else list(dims)
    axes = [axis_of("flip", dim, input.ndim) + 1 for dim in listed]
    return wrap(level, _core.flip(values(level, input), axes))


@rule("roll")
def _roll(level, input, shifts, dims):  # noqa: A002
    listed = [dims] if hasattr(dims, "__index__") else list(dims)
    axes = [axis_of("roll", dim, input.ndim) + 1 for dim in listed]
    return wrap(level, _core.roll(values(level, input), shifts, axes))


@rule("unfold")
def _unfold(level, input, dimension, size, step):  # noqa: A002
    return wrap(level, values(level, input).unfold(axis_of("unfold", dimension, input.ndim) + 1, size, step))


@rule("narrow")
def _narrow(level, input, dim, start, length):  # noqa: A002
    axis = axis_of("narrow", dim, input.ndim)
    return wrap(level, _core.narrow(values(level, input), axis + 1, start, length))


@rule("_pad")
def _pad(level, input, pad, mode, value):  # noqa: A002
    if len(pad) > 2 * input.ndim:
        raise _refuse("pad", f"at most {input.ndim} pairs", f"{len(pad)} numbers")
    return wrap(level, _core._pad(values(level, input), pad, mode, value))


def _joined(level, tensors, dim, ndim, name):
    axis = axis_of(name, dim, ndim)
    return wrap(level, getattr(_core, name)([values(level, each) for each in tensors], axis + 1))


@rule("cat")
def _cat(level, tensors, dim=0):
    return _joined(level, tensors, dim, tensors[0].ndim, "cat")


@rule("stack")
def _stack(level, tensors, dim=0):
    return _joined(level, tensors, dim, tensors[0].ndim + 1, "stack")


@rule("split")
def _split(level, input, split_size_or_sections, dim=0):  # noqa: A002
    axis = axis_of("split", dim, input.ndim)
    return wrap(level, _core.split(values(level, input), split_size_or_sections, axis + 1))


@rule("chunk")
def _chunk(level, input, chunks, dim=0):  # noqa: A002
    return wrap(level, _core.chunk(values(level, input), chunks, axis_of("chunk", dim, input.ndim) + 1))


@rule("unbind")
def _unbind(level, input, dim=0):  # noqa: A002
    if input.ndim == 0:
        raise _refuse("unbind", "at least one axis", "a tensor without axes")
    return wrap(level, _core.unbind(values(level, input), axis_of("unbind", dim, input.ndim) + 1))


@rule("meshgrid")
def _meshgrid(level, *vectors, indexing="ij"):
    listed = vectors[0] if len(vectors) == 1 and isinstance(vectors[0], (list, tuple)) else vectors
    count = len(listed)
    lengths = [each.numel() for each in listed]
    grids = [values(level, each).reshape(level.size, *[1] * i, lengths[i], *[1] * (count - 1 - i))
             .expand(level.size, *lengths) for i, each in enumerate(listed)]
    if indexing == "xy" and count > 1:
        grids = [each.transpose(1, 2) for each in grids]
    return wrap(level, tuple(grids))
