"""Rules of x[key] and x[key] = values, as native/tensor/tensor_index.cpp reads them."""
from weft import _core
from weft._batched.table import axis_of, has, is_tensor, no_rule, rule, values, wrap

_bool = getattr(_core, "bool")
_FULL = slice(None)


def _items(level, key, ndim):
    """The entries of a key, with ... written out."""
    items = list(key) if isinstance(key, tuple) else [key]
    items = [_entry(level, each) for each in items]
    axes = sum(_axes(each) for each in items)
    if axes > ndim:
        raise IndexError(f"too many indices: expected at most {ndim}, got {axes}")
    places = [i for i, each in enumerate(items) if each is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index has one ... at most")
    if places:
        items[places[0]:places[0] + 1] = [_FULL] * (ndim - axes)
    return items


def _entry(level, item):
    if isinstance(item, slice):
        for part in (item.start, item.stop, item.step):
            if is_tensor(part) and has(level, part):
                no_rule("getitem", "slices whose ends differ by sample have different lengths: use "
                        "weft.arange(n) compared with the ends as a mask, or gather()")
        return item
    if item is None or item is Ellipsis or type(item) is int:
        return item
    if is_tensor(item) and has(level, item):
        if item.dtype is _bool:
            no_rule("getitem", "how many values a mask chooses differs by sample: use weft.where() "
                    "or masked_fill()")
        return item
    if is_tensor(item):
        whole = type(item) is _core.Tensor and item.ndim == 0 and item.dtype is not _bool
        return int(item) if whole else item  # those of outer levels are index arrays
    if isinstance(item, (list, range, bool)) or hasattr(item, "__array_interface__"):
        return _core.asarray(list(item) if isinstance(item, range) else item)
    return item.__index__() if hasattr(item, "__index__") else item


def _axes(item):
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if is_tensor(item) and item.dtype is _bool else 1


def _basic(level, x, items):
    """(x after everything but index arrays, the index array of each axis or None). Masks become
    the places where they hold."""
    at, key = [], []
    for item in items:
        if is_tensor(item) and item.dtype is _bool:
            if item.ndim == 0:  # x[True]
                no_rule("getitem", "index with places, or use weft.where()")
            at += _core.nonzero(item).unbind(1)
            key += [_FULL] * item.ndim
        elif is_tensor(item):
            at.append(item)
            key.append(_FULL)
        else:
            key.append(item)
            if item is None or isinstance(item, slice):
                at.append(None)
    if any(each is not _FULL for each in key):
        x = wrap(level, x._value[(_FULL, *key)]) if has(level, x) else x[tuple(key)]
    return x, at + [None] * (x.ndim - len(at))


def _picked(level, x, at):
    """x without the axes whose index is one whole number per sample."""
    for axis in range(len(at) - 1, -1, -1):
        index = at[axis]
        if index is None or index.ndim:
            continue
        place = values(level, index).reshape(level.size, *[1] * x.ndim).expand(
            level.size, *[1 if i == axis else n for i, n in enumerate(x.shape)])
        place = _core.where(place < 0, place + x.shape[axis], place)
        x = wrap(level, _core.gather(values(level, x), axis + 1, place).squeeze(axis + 1))
        at = at[:axis] + at[axis + 1:]
    return x, at


@rule("__getitem__")
def _getitem(level, x, key):
    x, at = _basic(level, x, _items(level, key, x.ndim))
    if any(each is not None for each in at):
        x, at = _picked(level, x, at)
    places = [i for i, each in enumerate(at) if each is not None]
    if not places:
        return x
    together = places == list(range(places[0], places[-1] + 1))
    front = list(range(len(places)))
    arrays = [at[i] for i in places]
    width = max(each.ndim for each in arrays)
    if has(level, x):
        value = x._value.movedim([i + 1 for i in places], [i + 1 for i in front])
    elif places != front:
        value = x.movedim(places, front)
    else:
        value = x
    batched = any(has(level, each) for each in arrays)
    if batched:
        arrays = [_lined_up(level, each, width) for each in arrays]
    if batched and has(level, x):
        own = _core.arange(level.size).reshape(level.size, *[1] * width)
        found = value[(own, *arrays)]
    elif batched:
        found = value[tuple(arrays)]
    else:
        found = value[(_FULL, *arrays)]
    if together and places[0]:
        found = found.movedim(list(range(1, width + 1)),
                              list(range(places[0] + 1, places[0] + width + 1)))
    return wrap(level, found)


def _lined_up(level, index, width):
    """An index array beside others of `width` axes, with the batch before them."""
    if not has(level, index):
        return index
    return index._value.reshape(level.size, *[1] * (width - index.ndim), *index.shape)


@rule("__setitem__")
def _setitem(level, x, key, value):
    if not has(level, x):
        raise _core.InvalidArgumentError(
            "[setitem] expected a tensor with one value per sample as the target, got one that all "
            "samples share: begin with one that is batched (weft.zeros_like(x), x.new_zeros(...))")
    if is_tensor(key) and key.dtype is _bool and key.ndim == x.ndim and (
            has(level, key) or not is_tensor(value) or value.ndim == 0):
        x.copy_(_core.where(key, value if not is_tensor(value) else value.to(x.dtype), x))
        return
    items = _items(level, key, x.ndim)
    if not any(is_tensor(each) for each in items):
        part = x._value[(_FULL, *items)]
        x._value[(_FULL, *items)] = _for_part(level, value, part.ndim - 1)
        return
    count = x.numel()
    at = _core.arange(count).reshape(tuple(x.shape))
    batched = any(has(level, each) for each in items if is_tensor(each))
    at = _getitem(level, at, key) if batched else at[tuple(items)]
    given = value if is_tensor(value) else _core.asarray(value)
    spread = values(level, given).to(x.dtype)
    spread = spread.reshape(level.size, *[1] * (at.ndim - given.ndim), *given.shape)
    spread = spread.expand(level.size, *at.shape).reshape(level.size, -1)
    flat = x._value.reshape(level.size, count)
    places = values(level, at).reshape(level.size, -1)
    x._value.copy_(_core.scatter(flat, 1, places, spread).reshape(level.size, *x.shape))


def _for_part(level, value, ndim):
    if not (is_tensor(value) and has(level, value)):
        return value
    missing = ndim - value.ndim
    if missing < 0:
        raise _core.InvalidArgumentError(
            f"[setitem] expected values that broadcast to {ndim} axes, got shape "
            f"{list(value.shape)}")
    return value._value.reshape(level.size, *[1] * missing, *value.shape)


@rule("select")
def _select(level, input, dim, index):  # noqa: A002
    if input.ndim == 0:
        raise IndexError("select() takes no tensor without axes")
    return input[(slice(None),) * axis_of("select", dim, input.ndim) + (int(index),)]


@rule("take")
def _take(level, input, index):  # noqa: A002
    return input.flatten()[index]
