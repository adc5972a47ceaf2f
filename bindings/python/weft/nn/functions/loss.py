"""Losses beside those of the native module; formulas and defaults are PyTorch's."""
import math
import warnings

from weft import _core


def reduction_of(size_average, reduce, reduction):
    """`reduction`, or what PyTorch's old arguments ask for."""
    if size_average is None and reduce is None:
        return reduction
    if isinstance(size_average, str) or isinstance(reduce, str):
        raise TypeError(f"size_average and reduce are bools, got {size_average!r} and {reduce!r}: "
                        "write reduction=...")
    warnings.warn("size_average and reduce are old: write reduction", stacklevel=3)
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def reduced(losses, reduction):
    """The losses of single values as a mean, a sum or as they are."""
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    if reduction == "none":
        return losses
    raise _core.InvalidArgumentError(
        f"[loss] expected the reduction mean, sum or none, got {reduction!r}")


def _equal_shapes(name, input, target):  # noqa: A002
    if tuple(input.shape) != tuple(target.shape):
        raise _core.InvalidArgumentError(
            f"[{name}] expected a target of the input's shape {list(input.shape)}, got "
            f"{list(target.shape)}")


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None,  # noqa: A002
                         reduction="mean"):
    """Of probabilities and targets in [0, 1]."""
    _equal_shapes("binary_cross_entropy", input, target)
    return _core.binary_cross_entropy(input, target, weight,
                                      reduction_of(size_average, reduce, reduction))


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean"):  # noqa: A002
    """(input - target)^2."""
    return _core.mse_loss(input, target, reduction_of(size_average, reduce, reduction))


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean"):  # noqa: A002
    """|input - target|."""
    return _core.l1_loss(input, target, reduction_of(size_average, reduce, reduction))


def smooth_l1_loss(input, target, size_average=None, reduce=None,  # noqa: A002
                   reduction="mean", beta=1.0):
    """Squares over 2 beta where |input - target| < beta, else the distance less beta / 2."""
    return _core._smooth_l1_loss(input, target, reduction_of(size_average, reduce, reduction), beta)


def huber_loss(input, target, reduction="mean", delta=1.0):  # noqa: A002
    """Half the square up to delta, linear behind."""
    return _core._huber_loss(input, target, reduction, delta)


def poisson_nll_loss(input, target, log_input=True, size_average=None, full=False,  # noqa: A002
                     eps=1e-8, reduce=None, reduction="mean"):
    """Of counts with the (logarithm of the) expected count; `full` adds Stirling's term."""
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        safe = target.clamp(min=1.0)
        stirling = safe * safe.log() - safe + 0.5 * (2 * math.pi * safe).log()
        loss = loss + stirling.masked_fill(target <= 1, 0.0)
    return reduced(loss, reduction_of(size_average, reduce, reduction))


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):  # noqa: A002
    """Of values with a normal distribution of mean `input` and variance `var`."""
    if var.ndim == input.ndim - 1:
        var = var.unsqueeze(-1)
    if (var < 0).any():
        raise _core.InvalidArgumentError("[gaussian_nll_loss] expected variances of at least 0")
    # The floor is a constant: below it the gradient still reaches the variance, as in PyTorch.
    var = var + (var.detach().clamp(min=eps) - var.detach())
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None,  # noqa: A002
                         reduction="mean"):
    """x for a target of 1, max(0, margin - x) for -1."""
    loss = _core.where(target == 1, input, (margin - input).clamp(min=0.0))
    return reduced(loss, reduction_of(size_average, reduce, reduction))


def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None,
                        reduction="mean"):
    """max(0, margin - target (input1 - input2))."""
    loss = (margin - target * (input1 - input2)).clamp(min=0.0)
    return reduced(loss, reduction_of(size_average, reduce, reduction))


def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None,
                          reduction="mean"):
    """1 - cos for a target of 1, max(0, cos - margin) for -1."""
    squares = ((input1 * input1).sum(-1) + 1e-12) * ((input2 * input2).sum(-1) + 1e-12)
    cosine = (input1 * input2).sum(-1) / squares.sqrt()
    loss = _core.where(target == 1, 1.0 - cosine, (cosine - margin).clamp(min=0.0))
    return reduced(loss, reduction_of(size_average, reduce, reduction))


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The norm of x1 - x2 + eps along the last axis."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False,
                        size_average=None, reduce=None, reduction="mean"):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, margin=margin, swap=swap,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
        reduction=reduction_of(size_average, reduce, reduction))


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None,
                                      margin=1.0, swap=False, reduction="mean"):
    """triplet_margin_loss() with a distance of one's own."""
    distance = pairwise_distance if distance_function is None else distance_function
    away = distance(anchor, negative)
    if swap:
        away = _core.minimum(away, distance(positive, negative))
    return reduced((distance(anchor, positive) - away + margin).clamp(min=0.0), reduction)


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None,  # noqa: A002
                      reduce=None, reduction="mean"):
    """The mean over classes j of max(0, margin - x[target] + x[j])^p, without j = target."""
    rows = input if input.ndim == 2 else input.unsqueeze(0)
    places = target.reshape(-1, 1)
    right = rows.gather(1, places)
    over = (margin - right + rows).clamp(min=0.0) ** p
    if weight is not None:
        over = over * weight[places.reshape(-1)].unsqueeze(1)
    own = _core.one_hot(places.reshape(-1), rows.shape[1]).bool()
    loss = over.masked_fill(own, 0.0).sum(1) / rows.shape[1]
    loss = loss if input.ndim == 2 else loss[0]
    return reduced(loss, reduction_of(size_average, reduce, reduction))


def soft_margin_loss(input, target, size_average=None, reduce=None,  # noqa: A002
                     reduction="mean"):
    """log(1 + e^(-target x)), target 1 or -1."""
    return reduced(_core.softplus(-target * input), reduction_of(size_average, reduce, reduction))


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None,  # noqa: A002
                                reduce=None, reduction="mean"):
    """The mean over classes of the binary cross entropies of logits."""
    loss = -(target * _core.logsigmoid(input) + (1 - target) * _core.logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(loss.mean(-1), reduction_of(size_average, reduce, reduction))


def multilabel_margin_loss(input, target, size_average=None, reduce=None,  # noqa: A002
                           reduction="mean"):
    """Each class of the target (those before the first -1) against each other class."""
    rows = input if input.ndim == 2 else input.unsqueeze(0)
    places = target if target.ndim == 2 else target.unsqueeze(0)
    given = (places < 0).long().cumsum(1) == 0
    safe = places.clamp(min=0)
    own = _core.zeros(rows.shape).scatter_add(1, safe, given.float()) > 0
    over = (1.0 - rows.gather(1, safe).unsqueeze(2) + rows.unsqueeze(1)).clamp(min=0.0)
    counted = given.unsqueeze(2) & ~own.unsqueeze(1)
    loss = over.masked_fill(~counted, 0.0).sum((1, 2)) / rows.shape[1]
    loss = loss if input.ndim == 2 else loss[0]
    return reduced(loss, reduction_of(size_average, reduce, reduction))


def _lengths(name, lengths):
    if isinstance(lengths, _core.Tensor):
        return lengths.reshape(-1).long()
    if isinstance(lengths, int):
        lengths = [lengths]
    if not all(isinstance(each, int) for each in lengths):
        raise TypeError(f"[ctc_loss] expected whole numbers as {name}, got {lengths!r}")
    return _core.tensor(list(lengths), dtype=_core.int64)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean",
             zero_infinity=False):
    """Connectionist temporal classification of log-probabilities [T, N, C] or [T, C]; targets
    [N, S], or all of them one after another."""
    single = log_probs.ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    inputs, lengths = _lengths("input_lengths", input_lengths), _lengths("target_lengths",
                                                                         target_lengths)
    if targets.ndim == 1:
        counts, flat = lengths.tolist(), targets.tolist()
        if sum(counts) != len(flat):
            raise _core.InvalidArgumentError(
                f"[ctc_loss] expected {sum(counts)} targets, the sum of target_lengths, got "
                f"{len(flat)}")
        widest, first, rows = max([1, *counts]), 0, []
        for count in counts:
            rows.append(flat[first:first + count] + [blank] * (widest - count))
            first += count
        targets = _core.tensor(rows, dtype=_core.int64)
    loss = _core._ctc_loss(log_probs, targets, inputs, lengths, blank, reduction, zero_infinity)
    return loss[0] if single and reduction == "none" else loss
