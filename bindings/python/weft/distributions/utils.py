"""weft.distributions.utils: what distributions and transforms share."""
import functools
from numbers import Number

import weft
from weft._limits import finfo
from weft._names._table import Tensor, refuse
from weft._names.shapes import broadcast_tensors

euler_constant = 0.57721566490153286060


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape; numbers take the first tensor's type."""
    wrong = [each for each in values if not isinstance(each, (Tensor, Number))]
    if wrong:
        raise refuse("broadcast_all", "numbers and tensors as parameters",
                     f"{type(wrong[0]).__name__} {wrong[0]!r}")
    kind = next((each.dtype for each in values if isinstance(each, Tensor)),
                weft.get_default_dtype())
    made = [each if isinstance(each, Tensor) else weft.tensor(each, dtype=kind)
            for each in values]
    return broadcast_tensors(*made)


def sum_rightmost(value, dim):
    """`value` summed over its last `dim` axes."""
    return value.reshape(value.shape[:value.ndim - dim] + (-1,)).sum(-1) if dim else value


_sum_rightmost = sum_rightmost


def logits_to_probs(logits, is_binary=False):
    """Probabilities: by sigmoid() for two classes, else by softmax()."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def clamp_probs(probs):
    """Probabilities moved off 0 and 1 by the type's epsilon."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """The inverse of logits_to_probs(), finite at 0 and 1."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


class lazy_property:  # noqa: N801  (PyTorch's name)
    """A property that is computed once, when it is first read, and then an attribute."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with weft.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _below(size, diag):
    """Which places of a square matrix lie on diagonal `diag` or below it, by rows."""
    return weft.ones((size, size)).tril(diag) != 0


def tril_matrix_to_vec(mat, diag=0):
    """The entries on diagonal `diag` and below it, row by row, along the last axis."""
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise refuse("tril_matrix_to_vec", f"diag in [{-size}, {size - 1}]", diag)
    return mat[..., _below(size, diag)]


def vec_to_tril_matrix(vec, diag=0):
    """The inverse of tril_matrix_to_vec(): a square matrix, zero elsewhere."""
    count, size = vec.shape[-1], 0
    while _entries(size, diag) < count or size <= max(diag, -diag - 1):
        size += 1
    if _entries(size, diag) != count:
        raise refuse("vec_to_tril_matrix", "a last axis as long as the lower triangle of a square "
                     f"matrix has entries (diag={diag})", count)
    places = _below(size, diag).reshape(-1).nonzero().reshape(-1)
    flat = vec.new_zeros(vec.shape[:-1] + (size * size,))
    return flat.index_copy(-1, places, vec).reshape(vec.shape[:-1] + (size, size))


def _entries(size, diag):
    """How many entries of a square matrix lie on diagonal `diag` or below it."""
    return sum(min(max(row + diag + 1, 0), size) for row in range(size))
