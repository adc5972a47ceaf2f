"""vmap(): a function of one sample as a function of many."""
import functools
import importlib

from weft import _core
from weft._batched import levels
from weft._batched.table import has, is_tensor, wrap

Tensor = _core.Tensor
RANDOMNESS = ("error", "different", "same")
for _name in ("derivatives", "elements", "indexing", "layers", "losses", "places", "products",
              "randomness", "reductions", "shapes"):
    importlib.import_module(f"weft._batched.{_name}")  # which register their rules


def refuse(expected, got):
    """The error of a call of vmap() that does not fit."""
    return _core.InvalidArgumentError(f"[vmap] expected {expected}, got {got}")


def _is_branch(value):
    return isinstance(value, (tuple, list, dict)) and not is_tensor(value)


def _rebuilt(value, parts):
    """`value` with other leaves."""
    if isinstance(value, dict):
        return type(value)(zip(value, parts))
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def _branches(value):
    return list(value.values()) if isinstance(value, dict) else list(value)


def _is_dim(dims):
    return dims is None or type(dims) is int


def _paired(value, dims, what):
    """(leaf, its axis) of a tree; one axis, or None, stands for all leaves below it."""
    if not _is_branch(value):
        if not _is_dim(dims):
            raise refuse(f"{what} of an argument that is {type(value).__name__} as a whole number "
                         "or None", repr(dims))
        return [(value, dims)]
    if _is_dim(dims):
        return [pair for each in _branches(value) for pair in _paired(each, dims, what)]
    same = isinstance(dims, dict) and set(dims) == set(value) if isinstance(value, dict) else (
        isinstance(dims, (tuple, list)) and len(dims) == len(value))
    if not same:
        raise refuse(f"{what} of the form of what it belongs to, {_form(value)}", repr(dims))
    parts = [dims[key] for key in value] if isinstance(value, dict) else dims
    return [pair for each, part in zip(_branches(value), parts)
            for pair in _paired(each, part, what)]


def _form(value):
    if isinstance(value, dict):
        return "a dict of " + ", ".join(map(repr, value))
    if _is_branch(value):
        return f"{len(value)} parts"
    return type(value).__name__


def _with_leaves(value, leaves):
    """The tree `value` with the leaves of an iterator."""
    if not _is_branch(value):
        return next(leaves)
    return _rebuilt(value, [_with_leaves(each, leaves) for each in _branches(value)])


def _checked(pairs):
    """[(tensor or anything else, axis from the front or None)], and how many samples there are."""
    found, size = [], None
    for value, dim in pairs:
        if dim is None:
            found.append((value, None))
            continue
        if not is_tensor(value):
            raise refuse("in_dims=None for arguments that are no tensors",
                         f"{dim} for {type(value).__name__}")
        if not -value.ndim <= dim < value.ndim:
            raise refuse(f"in_dims in [{-value.ndim}, {value.ndim}) for a tensor of shape "
                         f"{list(value.shape)}", dim)
        length = value.shape[dim]
        if size not in (None, length):
            raise refuse(f"as many samples in each argument, {size} as in the first",
                         f"{length} along axis {dim} of shape {list(value.shape)}")
        size = length
        found.append((value, dim % value.ndim))
    if size is None:
        raise refuse("at least one tensor among the arguments whose in_dims is a whole number",
                     "none: all in_dims are None, or there are no tensors")
    if size == 0:
        raise refuse("at least one sample", "none")
    return found, size


def _leaves(value):
    return [each for part in _branches(value) for each in _leaves(part)] if _is_branch(
        value) else [value]


def _out_pairs(results, out_dims):
    pairs = _paired(results, out_dims, "out_dims")
    for value, dim in pairs:
        if not is_tensor(value):
            raise TypeError(f"vmap() expects a function that gives tensors, or tuples, lists and "
                            f"dicts of them, got {type(value).__name__}")
    return pairs


def _put(level, value, dim):
    """A result with the batch at `dim`."""
    if dim is None:
        if has(level, value):
            raise refuse("out_dims=None only for results that are the same for all samples",
                         "one that differs by sample")
        return value
    samples = value._value if has(level, value) else value.unsqueeze(0).expand(
        level.size, *value.shape)
    if not -samples.ndim <= dim < samples.ndim:
        raise refuse(f"out_dims in [{-samples.ndim}, {samples.ndim}) for results of shape "
                     f"{list(value.shape)}", dim)
    return samples.movedim(0, dim) if dim else samples


def _own_handle(x):
    """The same values; requires_grad_() of it does not reach the caller's tensor."""
    return x if x.requires_grad else x.detach()


def _run(function, arguments, pairs, size, keywords, settings):
    """(the results' tree, its leaves with their batch, the axes of these)."""
    out_dims, randomness = settings
    with levels.entered(size, randomness) as level:
        leaves = [value if dim is None else wrap(level, _own_handle(value.movedim(dim, 0)))
                  for value, dim in pairs]
        results = function(*_with_leaves(arguments, iter(leaves)), **keywords)
        found = _out_pairs(results, out_dims)
        return results, [_put(level, value, dim) for value, dim in found], [
            dim for _, dim in found]


def _in_chunks(function, arguments, pairs, size, keywords, settings, chunk_size):
    parts, state = [], _core.default_generator.get_state()
    for start in range(0, size, chunk_size):
        if settings[1] == "same":  # in all chunks
            _core.default_generator.set_state(state)
        length = min(chunk_size, size - start)
        part = [(value if dim is None else value.narrow(dim, start, length), dim)
                for value, dim in pairs]
        results, leaves, dims = _run(function, arguments, part, length, keywords, settings)
        parts.append(leaves)
    joined = [each[0] if dim is None else _core.cat(list(each), dim)
              for each, dim in zip(zip(*parts), dims)]
    return results, joined


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that calls func once, for all samples along an axis of its arguments."""
    if not callable(func):
        raise TypeError(f"vmap(): argument 'func' must be a function, got {type(func).__name__}")
    if randomness not in RANDOMNESS:
        raise refuse("randomness 'error', 'different' or 'same'", repr(randomness))
    if chunk_size is not None and not (type(chunk_size) is int and chunk_size > 0):
        raise refuse("chunk_size as a whole number of at least 1, or None", repr(chunk_size))

    @functools.wraps(func, updated=())
    def mapped(*args, **keywords):
        dims = in_dims
        if not _is_dim(dims) and not isinstance(dims, (tuple, list)):
            raise refuse("in_dims as a whole number, or a tuple with one part an argument",
                         repr(dims))
        pairs, size = _checked(_paired(args, dims, "in_dims"))
        settings = (out_dims, randomness)
        if chunk_size is None or chunk_size >= size:
            results, leaves, _ = _run(func, args, pairs, size, keywords, settings)
        else:
            results, leaves = _in_chunks(func, args, pairs, size, keywords, settings, chunk_size)
        return _with_leaves(results, iter(leaves))

    return mapped
