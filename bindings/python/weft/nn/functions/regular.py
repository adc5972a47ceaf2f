"""Dropout of values and of whole channels; normalisation without a native function of its own."""
from weft import _core
from weft.nn.functions.in_place import over

_ALPHA = -1.7580993408473766  # what selu() gives for -infinity


def _probability(name, p):
    if not 0.0 <= p <= 1.0:
        raise _core.InvalidArgumentError(f"[{name}] expected p in [0, 1], got {p}")


def dropout(input, p=0.5, training=True, inplace=False):  # noqa: A002
    """In training zeroes values with probability p and scales the rest by 1 / (1 - p)."""
    _probability("dropout", p)
    if not training or p == 0.0:
        return input
    if inplace:
        return over(input, dropout, p)
    return input * 0.0 if p == 1.0 else _core._dropout(input, p)


def _of_channels(name, axes):
    def drop(input, p=0.5, training=True, inplace=False):  # noqa: A002
        _probability(name, p)
        if not training or p == 0.0:
            return input
        lead = input.ndim - axes
        if lead not in (1, 2):
            raise _core.InvalidArgumentError(
                f"[{name}] expected {axes + 1} or {axes + 2} axes, got shape {list(input.shape)}")
        kept = dropout(_core.ones(*input.shape[:lead], *[1] * axes, dtype=input.dtype), p)
        return input.mul_(kept) if inplace else input * kept

    drop.__name__ = name
    drop.__doc__ = "dropout() of whole channels."
    return drop


dropout1d, dropout2d, dropout3d = (_of_channels(f"dropout{axes}d", axes) for axes in (1, 2, 3))


def alpha_dropout(input, p=0.5, training=False, inplace=False):  # noqa: A002
    """Dropout beside selu(), which keeps mean and variance."""
    _probability("alpha_dropout", p)
    if not training or p == 0.0:
        return input
    if inplace:
        return over(input, alpha_dropout, p, True)
    return _alpha_dropped(input, p, input.shape)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):  # noqa: A002
    """alpha_dropout() of whole channels of [N, C, ...]."""
    _probability("feature_alpha_dropout", p)
    if not training or p == 0.0:
        return input
    if inplace:
        return over(input, feature_alpha_dropout, p, True)
    if input.ndim < 2:
        raise _core.InvalidArgumentError("[feature_alpha_dropout] expected at least 2 axes, got "
                                         f"shape {list(input.shape)}")
    return _alpha_dropped(input, p, (*input.shape[:2], *[1] * (input.ndim - 2)))


def _alpha_dropped(input, p, shape):  # noqa: A002
    """alpha_dropout() by a draw of that shape."""
    if p == 1.0:
        return input * 0.0
    keep = _core.bernoulli(_core.full(shape, 1.0 - p, dtype=input.dtype))
    scale = ((1.0 - p) * (1.0 + p * _ALPHA ** 2)) ** -0.5
    return (input * keep + _ALPHA * (1.0 - keep)) * scale - scale * p * _ALPHA


def normalize(input, p=2.0, dim=1, eps=1e-12):  # noqa: A002
    """x over its norm along `dim`."""
    return input / input.norm(p, dim, True).clamp(min=eps)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):  # noqa: A002
    """Normalised over the last axes, which have the shape normalized_shape."""
    return _core.layer_norm(input, normalized_shape, weight, bias, eps)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None,  # noqa: A002
                  use_input_stats=True, momentum=0.1, eps=1e-5):
    """[N, C, ...]: each channel of each sample normalised on its own."""
    count, channels = input.shape[:2]
    if not use_input_stats:
        return _core.batch_norm(input, running_mean, running_var, weight, bias, False, momentum,
                                eps)
    if running_mean is not None:
        flat = input.detach().flatten(2)
        for kept, now in ((running_mean, flat.mean(2)), (running_var, flat.var(2))):
            kept.mul_(1.0 - momentum).add_(now.mean(0) * momentum)
    return _core.group_norm(input, channels, weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):  # noqa: A002
    """Krizhevsky et al., 2012: x over (k + alpha mean of squares of channels nearby)^beta."""
    squares = (input * input).reshape(input.shape[0], 1, input.shape[1], -1)
    padded = _core._pad(squares, [0, 0, size // 2, (size - 1) // 2], "constant", 0.0)
    means = _core.avg_pool2d(padded, (size, 1), (1, 1)).reshape(input.shape)
    return input / (means * alpha + k) ** beta
