"""Rows of tables by number, alone or by the bag, and products with whole numbers."""
import warnings

from weft import _core
from weft.autograd import Function, no_grad


def note_dense(sparse, what):
    """A warning, once a place, that gradients of tables are dense."""
    if sparse:
        warnings.warn(f"{what}(sparse=True): gradients are dense here; the values are the same",
                      stacklevel=4)


@no_grad()
def _renormed(weight, rows, max_norm, norm_type):
    """Scales the rows in use whose norm is above max_norm, in place."""
    used = rows.reshape(-1).unique()
    table = weight.detach()
    chosen = table.index_select(0, used)
    norms = chosen.norm(norm_type, -1, True)
    scale = _core.where(norms > max_norm, max_norm / (norms + 1e-7), _core.ones(norms.shape))
    table.index_copy_(0, used, chosen * scale)


class _ByFrequency(Function):
    """Rows as they are; the gradient of each is divided by how often the batch has its number."""

    @staticmethod
    def forward(ctx, rows, counts):
        ctx.counts = counts
        return rows.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient / ctx.counts.to(gradient.dtype).unsqueeze(-1), None


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0,  # noqa: A002
              scale_grad_by_freq=False, sparse=False):
    """Rows of weight [count, width] by whole numbers [...]: [..., width]."""
    note_dense(sparse, "embedding")
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.shape[0]
    if max_norm is not None:
        _renormed(weight, input, max_norm, norm_type)
    rows = _core.embedding(input, weight, padding_idx)
    if not scale_grad_by_freq or input.numel() == 0:
        return rows
    return _ByFrequency.apply(rows, input.reshape(-1).long().bincount()[input.long()])


def _bags(input, offsets, include_last_offset):  # noqa: A002
    """(numbers, bag of each, count of bags)."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("embedding_bag() expects no offsets beside an input of two axes")
        count, length = input.shape
        return input.reshape(-1), _core.arange(count).repeat_interleave(length, 0), count
    if input.ndim != 1 or offsets is None:
        raise ValueError("embedding_bag() expects [N, L], or [count] with offsets")
    starts = offsets.tolist()
    starts = starts[:-1] if include_last_offset else starts
    ends = [*starts[1:], input.shape[0]]
    if starts[:1] not in ([], [0]) or any(a > b for a, b in zip(starts, ends)):
        raise ValueError(f"embedding_bag() expects offsets that begin with 0 and do not fall, up to "
                         f"{input.shape[0]}, got {starts}")
    owners = [bag for bag, (a, b) in enumerate(zip(starts, ends)) for _ in range(b - a)]
    return input, _core.tensor(owners, dtype=_core.int64), len(starts)


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2,  # noqa: A002
                  scale_grad_by_freq=False, mode="mean", sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=None):
    """The sum, mean or maximum of the rows of each bag: [N, L], or [count] with offsets."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag() expects the mode sum, mean or max, got {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise ValueError(f"embedding_bag() expects the mode sum beside weights, got {mode!r}")
    if scale_grad_by_freq and mode == "max":
        raise ValueError("embedding_bag() expects the mode sum or mean beside scale_grad_by_freq, "
                         "got 'max'")
    numbers, bags, count = _bags(input, offsets, include_last_offset)
    if padding_idx is not None:
        kept = (numbers != padding_idx).nonzero().reshape(-1)
        numbers, bags = numbers[kept], bags[kept]
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)[kept]
    rows = embedding(numbers, weight, None, max_norm, norm_type, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    if mode == "max":
        return _largest(rows, bags, count)
    total = _core.zeros(count, weight.shape[1], dtype=weight.dtype).index_add(0, bags, rows)
    if mode == "sum":
        return total
    sizes = bags.bincount(minlength=count).clamp(min=1)
    return total / sizes.to(weight.dtype).unsqueeze(1)


def _largest(rows, bags, count):
    owners = bags.tolist()
    places = [[] for _ in range(count)]
    for place, bag in enumerate(owners):
        places[bag].append(place)
    empty = _core.zeros(rows.shape[1], dtype=rows.dtype)
    return _core.stack([
        rows.index_select(0, _core.tensor(each, dtype=_core.int64)).max(0)[0] if each else empty
        for each in places])


def bilinear(input1, input2, weight, bias=None):
    """x1^T W x2 + bias, with a matrix W for each output."""
    y = _core.einsum("...i,oij,...j->...o", input1, weight, input2)
    return y if bias is None else y + bias


def one_hot(tensor, num_classes=-1):
    """Whole numbers [...] to rows [..., classes] of 0 and one 1."""
    if num_classes == -1:
        num_classes = int(tensor.max().item()) + 1
    return _core.one_hot(tensor, num_classes)
