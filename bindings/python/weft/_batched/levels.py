"""The vmap() calls that are at work in this thread, from the outermost to the innermost."""
import contextlib
import threading

from weft import _core

_local = threading.local()
_lock = threading.Lock()
_at_work = [0]  # vmap() calls in all threads


class Level:
    """One vmap() at work: how many samples it has, and how deep it lies in others."""

    __slots__ = ("size", "depth", "randomness", "active", "running")

    def __init__(self, size, depth, randomness):
        self.size, self.depth, self.randomness, self.active = size, depth, randomness, 0
        self.running = []  # the names of the rules that compute now


def active():
    """The levels at work, the outermost first."""
    return getattr(_local, "levels", ())


def _count(change):
    """Native functions look for BatchedTensors while any thread is within vmap()."""
    with _lock:
        _at_work[0] += change
        if _at_work[0] == 0:
            _core._set_batched_calls(None, None)
        elif _at_work[0] == change:
            from weft._batched import tensor

            _core._set_batched_calls(tensor.BatchedTensor, tensor.call)


@contextlib.contextmanager
def entered(size, randomness="error"):
    """A level of `size` samples, inside of those that are at work."""
    level = Level(size, len(active()), randomness)
    with resumed((*active(), level)):
        yield level


@contextlib.contextmanager
def resumed(stack):
    """These levels alone are at work, the last of which may have ended before: a backward pass."""
    before, level = active(), stack[-1]
    _local.levels = stack
    level.active += 1
    _count(1)
    try:
        yield
    finally:
        level.active -= 1
        _local.levels = before
        _count(-1)


@contextlib.contextmanager
def below(level):
    """Only the levels outside of `level` are at work."""
    now = active()
    _local.levels = now[:level.depth]
    try:
        yield
    finally:
        _local.levels = now


def per_sample(tensor):
    """`tensor` as one copy per sample of all levels at work, without memory of their own: what is
    differentiated within vmap(), so that each sample has a gradient of its own."""
    levels = active()
    if not levels:
        return tensor
    from weft._batched.tensor import expanded

    return expanded(tensor, levels)
