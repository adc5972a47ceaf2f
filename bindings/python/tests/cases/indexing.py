"""Reading and writing by index: slices, whole numbers, masks, and the functions of an index."""
import numpy as np

from cases import Case


def _key(draws, shape):
    """(text, function of T that gives the key, whether a place may be met twice)."""
    parts, text, twice = [], [], False
    many = (draws.whole(1, 3),)
    masked = False  # one mask, and then no other arrays: they would have to be of its length
    left = list(shape)
    whole = False  # what follows ... counts from the last axis: it has to reach it
    while left and (whole or draws.chance(0.8)):
        size, kind = left[0], draws.pick(["int", "slice", "slice", "none", "ints", "mask", "all",
                                          "dots"])
        if kind == "none":
            parts.append(None)
            continue
        if kind == "dots":
            if any(part is Ellipsis for part in parts):
                continue
            keep, whole = draws.whole(0, len(left)), True
            parts.append(Ellipsis)
            left = left[len(left) - keep:]
            continue
        if kind == "int" and size:
            parts.append(draws.whole(-size, size - 1))
        elif kind == "slice":
            ends = sorted(draws.whole(-size - 1, size + 1) for _ in range(2))
            ends = [None if draws.chance(0.3) else end for end in ends]
            parts.append(slice(*ends, draws.whole(1, 3)))
        elif kind == "ints" and size and not masked:
            twice = True
            of = draws.pick([many, (1,), (2, *many)])
            parts.append(draws.randint(-size, size, of))
        elif kind == "mask" and not masked and not twice:
            masked = True
            count = draws.whole(1, min(2, len(left)))
            parts.append(draws.uniform(size=tuple(left[:count])) < 0.5)
            left = left[count - 1:]
            if count > 1:  # what comes after such a mask PyTorch 1.13 takes from a wrong axis
                left = left[:1]
        else:
            parts.append(slice(None))
        left = left[1:]
    for part in parts:
        text.append(f"{part.dtype}{part.tolist()}" if isinstance(part, np.ndarray) else str(part))
    alone = len(parts) == 1 and draws.chance(0.5)

    def key(T):
        made = tuple(T.tensor(part) if isinstance(part, np.ndarray) else part for part in parts)
        return made[0] if alone else made

    return "[" + ", ".join(text) + "]", key, twice


def _get(draws):
    shape = draws.shape(1, 4, empty=0.1)
    text, key, _ = _key(draws, shape)
    return Case(f"x{shape}{text}", [draws.values(*shape)], lambda T, F, x: x[key(T)])


def _set(draws):
    """Into a copy with a history; of a number or what broadcasts."""
    shape = draws.shape(1, 4, empty=0.1)
    text, key, twice = _key(draws, shape)
    plain = np.empty(shape)
    try:
        into = plain[_numpy_key(key)].shape
    except IndexError:
        return None
    other = () if twice else draws.spread(into)

    def call(T, F, x, v):
        y = x * 2
        y[key(T)] = v
        return y

    return Case(f"x{shape}{text} = v{other}", [draws.values(*shape), draws.values(*other)], call)


class _Plain:
    """Stands for a library: its tensors are NumPy's arrays."""

    @staticmethod
    def tensor(array):
        return array


def _numpy_key(key):
    return key(_Plain)


def _along(draws):
    """gather, scatter and scatter_add, with an index that may be shorter on every axis."""
    shape = draws.shape(1, 3)
    axis, name = draws.axis(shape), draws.pick(["gather", "scatter", "scatter_add", "scatter v"])
    small = [draws.whole(1, n) for n in shape]
    at = axis % len(shape)
    if name in ("gather", "scatter_add"):
        small[at] = draws.whole(0, 5)
        index = draws.randint(0, shape[at], small)
    else:  # each place once: which of several values stays is nobody's promise
        full = [shape[at] if i == at else n for i, n in enumerate(small)]
        index = np.argsort(draws.uniform(size=full), axis=at)
        index = np.take(index, range(small[at]), axis=at)
    bigger = [n + draws.whole(0, 1) for n in index.shape]

    def call(T, F, x, v):
        place = T.tensor(np.ascontiguousarray(index))
        if name == "gather":
            return x.gather(axis, place)
        if name == "scatter v":
            return x.scatter(axis, place, 1.5)
        return getattr(x, name)(axis, place, v)

    return Case(f"{name}({shape}, {axis}, {index.shape}, {bigger})",
                [draws.values(*shape), draws.values(*bigger)], call)


def _rows(draws):
    shape = draws.shape(1, 3, empty=0.05)
    axis = draws.axis(shape)
    size, name = shape[axis], draws.pick(["index_select", "index_add", "index_copy"])
    count = draws.whole(0, 4) if size else 0
    index = (draws.permutation(size)[:count] if name == "index_copy"
             else draws.randint(0, max(size, 1), count))
    rows = list(shape)
    rows[axis] = len(index)

    def call(T, F, x, v):
        place = T.tensor(np.asarray(index, np.int64))
        return (x.index_select(axis, place) if name == "index_select"
                else getattr(x, name)(axis, place, v))

    return Case(f"{name}({shape}, {axis}, {list(index)})",
                [draws.values(*shape), draws.values(*rows)], call)


def _masks(draws):
    shape = draws.shape(0, 3, empty=0.1)
    name = draws.pick(["masked_fill", "masked_select", "where", "nonzero"])
    mask = draws.uniform(size=draws.spread(shape)) < 0.5

    def call(T, F, x):
        chosen = T.tensor(np.asarray(mask))
        if name == "where":
            return T.where(chosen, x, x * x)
        if name == "nonzero":
            return T.nonzero(chosen)
        return x.masked_select(chosen) if name == "masked_select" else x.masked_fill(chosen, -0.5)

    return Case(f"{name}({shape}, mask {mask.shape})", [draws.values(*shape)], call)


def _tables(draws):
    """embedding, one_hot, bincount and searchsorted."""
    name = draws.pick(["embedding", "one_hot", "bincount", "searchsorted", "unique"])
    shape = draws.shape(0, 3, (1, 2, 3), empty=0.1)
    index = draws.randint(0, 6, shape)
    padding = draws.pick([None, draws.whole(-6, 5)])
    table = draws.values(6, 3)
    right = draws.chance(0.5)

    def call(T, F, w):
        i = T.tensor(np.asarray(index))
        if name == "embedding":
            return F.embedding(i, w, padding_idx=padding)
        if name == "one_hot":
            return F.one_hot(i, 6)
        if name == "bincount":
            return T.bincount(i.flatten(), minlength=4 if right else 0)
        if name == "unique":
            return T.unique(i, return_inverse=True, return_counts=True)
        return T.searchsorted(w[:, 0].detach().sort()[0], i.float() - 2.5, right=right)

    return Case(f"{name}({index.tolist()}, padding_idx={padding}, {right})", [table], call)


def case(draws):
    return draws.pick([_get, _get, _set, _set, _along, _rows, _masks, _tables])(draws)
