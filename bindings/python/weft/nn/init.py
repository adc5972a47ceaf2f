"""Initialisers, with PyTorch's names; they write into a tensor and return it."""
import math

from weft import _core
from weft.autograd import no_grad


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps variances through a nonlinearity."""
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity in ("linear", "sigmoid", "conv1d", "conv2d"):
        return 1.0
    raise _core.InvalidArgumentError(f"[calculate_gain] no gain is known of {nonlinearity}")


def _fans(tensor):
    if tensor.ndim < 2:
        raise _core.InvalidArgumentError(
            f"[init] expected at least 2 axes, got shape {tuple(tensor.shape)}")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


@no_grad()
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Values between a and b."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal values."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def constant_(tensor, val):
    """One value."""
    return tensor.fill_(val)


def zeros_(tensor):
    """0."""
    return constant_(tensor, 0.0)


def ones_(tensor):
    """1."""
    return constant_(tensor, 1.0)


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Glorot and Bengio, 2010."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Glorot and Bengio, 2010."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """He et al., 2015."""
    fan = _fans(tensor)[0 if mode == "fan_in" else 1]
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / fan)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """He et al., 2015."""
    fan = _fans(tensor)[0 if mode == "fan_in" else 1]
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)
