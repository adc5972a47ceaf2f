#!/usr/bin/env python3
"""Writes views.txt: random chains of views and what NumPy makes of them.

usage: make_views.py [DIRECTORY]     (default: the folder of this script)

One chain a line:  SHAPE|STEP;STEP;...|SHAPE|HASH|HASH
  the first SHAPE is that of an array that counts 0, 1, 2, ... in row-major order;
  each STEP is a letter and its numbers ("_" is no value), see steps() below;
  then the shape of the last view, the hash of its values, and the hash of the whole first array
  after 1000, 1001, ... were written through the last view ("-" where the chain copied or where two
  places of the view are one).
The hash goes over the values in row-major order: h = h * 6364136223846793005 + value + 1, modulo
2^64. The same version of NumPy writes the same bytes; the test only reads the file.
"""
import pathlib
import random
import sys

import numpy as np

CHAINS = 2500
STEPS_MAX = 7
MASK = (1 << 64) - 1


def digest(array):
    h = 0
    for value in array.ravel().tolist():
        h = (h * 6364136223846793005 + value + 1) & MASK
    return h


def number(value):
    return "_" if value is None else str(value)


def slice_step(rng, view):
    axis = rng.randrange(view.ndim)
    extent = view.shape[axis]
    ends = [rng.choice([None, rng.randint(-extent - 2, extent + 2)]) for _ in range(2)]
    step = rng.choice([1, 1, 2, 3, -1, -1, -2, -3])
    index = [slice(None)] * view.ndim
    index[axis] = slice(ends[0], ends[1], step)
    given = rng.choice([axis, axis - view.ndim])
    return f"s{given},{number(ends[0])},{number(ends[1])},{step}", view[tuple(index)]


def permute_step(rng, view):
    axes = rng.sample(range(view.ndim), view.ndim)
    return "p" + ",".join(map(str, axes)), view.transpose(axes)


def reshape_step(rng, view):
    rest, shape = view.size, []
    for factor in (2, 3, 5, 7):
        if rest and rest % factor == 0 and rng.random() < 0.6:
            shape.append(factor)
            rest //= factor
    shape.insert(rng.randint(0, len(shape)), rest)
    return "r" + ",".join(map(str, shape)), view.reshape(shape)


def flatten_step(rng, view):
    first = rng.randrange(view.ndim)
    last = rng.randrange(first, view.ndim)
    joined = int(np.prod(view.shape[first:last + 1]))
    shape = view.shape[:first] + (joined,) + view.shape[last + 1:]
    return f"F{first},{last - view.ndim}", view.reshape(shape)


def unfold_step(rng, view):
    axis = rng.randrange(view.ndim)
    if view.shape[axis] == 0 or view.ndim > 5 or view.size > 600:
        return None
    size, step = rng.randint(1, min(3, view.shape[axis])), rng.randint(1, 3)
    windows = np.lib.stride_tricks.sliding_window_view(view, size, axis=axis, writeable=True)
    index = [slice(None)] * windows.ndim
    index[axis] = slice(None, None, step)
    return f"u{axis},{size},{step}", windows[tuple(index)]


def diagonal_step(rng, view):
    if view.ndim < 2:
        return None
    a, b = rng.sample(range(view.ndim), 2)
    offset = rng.randint(-view.shape[a], view.shape[b])
    return f"d{offset},{a},{b - view.ndim}", np.diagonal(view, offset, a, b)


def expand_step(rng, view):
    if view.ndim > 5 or view.size > 400:
        return None
    shape = [rng.randint(1, 3) if extent == 1 else extent for extent in view.shape]
    if rng.random() < 0.4:
        shape.insert(0, rng.randint(1, 2))
    return "x" + ",".join(map(str, shape)), np.broadcast_to(view, shape)


def axis_step(rng, view):
    axis = rng.randrange(view.ndim)
    kind = rng.randrange(5)
    if kind == 0 and view.shape[axis] == 1 and view.ndim > 1:
        return f"q{axis}", np.squeeze(view, axis)
    if kind == 1 and view.ndim < 6:
        return f"n{axis - view.ndim - 1}", np.expand_dims(view, axis - view.ndim - 1)
    if kind == 2 and view.shape[axis] > 0 and view.ndim > 1:
        place = rng.randint(-view.shape[axis], view.shape[axis] - 1)
        index = [slice(None)] * view.ndim
        index[axis] = place
        return f"i{axis},{place}", view[tuple(index)]
    if kind == 3:
        target = rng.randrange(view.ndim)
        return f"m{axis},{target - view.ndim}", np.moveaxis(view, axis, target)
    axes = rng.sample(range(view.ndim), rng.randint(1, view.ndim))
    return "f" + ",".join(map(str, axes)), np.flip(view, axes)


STEPS = [slice_step, slice_step, slice_step, permute_step, reshape_step, flatten_step, unfold_step,
         diagonal_step, expand_step, axis_step, axis_step]


def chain(seed):
    rng = random.Random(seed)
    shape = [rng.randint(1, 6) for _ in range(rng.randint(1, 4))]
    base = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    view, steps = base, []
    for _ in range(rng.randint(1, STEPS_MAX)):
        done = rng.choice(STEPS)(rng, view)
        # Empty views stay rare.
        if done is None or done[1].ndim == 0 or (done[1].size == 0 and rng.random() < 0.9):
            continue
        steps.append(done[0])
        view = done[1]
    hash_read = digest(view)
    places = view.ravel().tolist()
    written = "-"
    if np.may_share_memory(view, base) and len(set(places)) == len(places) and view.size:
        flat = base.ravel()
        flat[places] = np.arange(1000, 1000 + len(places))
        written = str(digest(flat))
    text = ",".join
    return "|".join([text(map(str, shape)), ";".join(steps), text(map(str, view.shape)),
                     str(hash_read), written])


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
    folder = folder if folder.is_dir() else folder.parent
    (folder / "views.txt").write_text("".join(chain(seed) + "\n" for seed in range(CHAINS)))


if __name__ == "__main__":
    main()
