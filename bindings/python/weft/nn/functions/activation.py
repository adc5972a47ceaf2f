"""Activations made of others; with `inplace` the result is written over the input."""
import warnings

from weft import _core
from weft.nn.functions.in_place import over

_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def chosen_dim(name, input, dim, stacklevel):  # noqa: A002
    """`dim`, or the one that PyTorch chooses where none is given: its old rule, with a warning."""
    if dim is not None:
        return dim
    chosen = 0 if input.ndim in (0, 1, 3) else 1
    warnings.warn(f"{name}() without dim takes dim={chosen} of {input.ndim} axes, as PyTorch does: "
                  f"write dim={chosen}, or dim=-1 for the last", stacklevel=stacklevel)
    return chosen


def _typed(input, dtype):  # noqa: A002
    return input if dtype is None else input.to(dtype)


def softmax(input, dim=None, _stacklevel=3, dtype=None):  # noqa: A002
    """e^x over its sum along `dim`."""
    dim = chosen_dim("softmax", input, dim, _stacklevel)
    return _core.softmax(_typed(input, dtype), dim)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):  # noqa: A002
    """The logarithm of softmax()."""
    dim = chosen_dim("log_softmax", input, dim, _stacklevel)
    return _core.log_softmax(_typed(input, dtype), dim)


def softmin(input, dim=None, _stacklevel=3, dtype=None):  # noqa: A002
    """softmax() of -x."""
    return softmax(-input, chosen_dim("softmin", input, dim, _stacklevel), dtype=dtype)


def relu(input, inplace=False):  # noqa: A002
    """max(x, 0)."""
    return over(input, _core.relu, keeps_input=False) if inplace else _core.relu(input)


def silu(input, inplace=False):  # noqa: A002
    """x sigmoid(x)."""
    return over(input, _core.silu) if inplace else _core.silu(input)


def mish(input, inplace=False):  # noqa: A002
    """x tanh(softplus(x))."""
    return over(input, _core.mish) if inplace else _core.mish(input)


def leaky_relu(input, negative_slope=0.01, inplace=False):  # noqa: A002
    """x, below 0 times the slope."""
    if inplace:
        return over(input, _core.leaky_relu, negative_slope)
    return _core.leaky_relu(input, negative_slope)


def elu(input, alpha=1.0, inplace=False):  # noqa: A002
    """x, below 0 alpha (e^x - 1)."""
    return over(input, _core.elu, alpha) if inplace else _core.elu(input, alpha)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):  # noqa: A002
    """x between two values."""
    if inplace:
        return over(input, _core.hardtanh, min_val, max_val)
    return _core.hardtanh(input, min_val, max_val)


def relu6(input, inplace=False):  # noqa: A002
    """x between 0 and 6."""
    return hardtanh(input, 0.0, 6.0, inplace)


def selu(input, inplace=False):  # noqa: A002
    """Klambauer et al., 2017: elu() scaled so that variances keep."""
    if inplace:
        return over(input, selu)
    return _core.elu(input, _SELU_ALPHA) * _SELU_SCALE


def celu(input, alpha=1.0, inplace=False):  # noqa: A002
    """x, below 0 alpha (e^(x / alpha) - 1)."""
    if inplace:
        return over(input, celu, alpha)
    return _core.elu(input / alpha, 1.0) * alpha


def hardsigmoid(input, inplace=False):  # noqa: A002
    """x / 6 + 1/2 between 0 and 1."""
    if inplace:
        return over(input, hardsigmoid)
    return _core.hardtanh(input + 3.0, 0.0, 6.0) / 6.0


def hardswish(input, inplace=False):  # noqa: A002
    """x hardsigmoid(x)."""
    return over(input, hardswish) if inplace else input * hardsigmoid(input)


def prelu(input, weight):  # noqa: A002
    """x, below 0 times a learned slope: one, or one for each channel (axis 1)."""
    if weight.numel() != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if weight.ndim != 1 or weight.numel() != channels:
            raise _core.InvalidArgumentError(
                f"[prelu] expected 1 slope or {channels}, one for each channel, got shape "
                f"{list(weight.shape)}")
        weight = weight.reshape(1, -1, *[1] * (input.ndim - 2))
    return _core.where(input > 0, input, weight * input)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):  # noqa: A002
    """x, below 0 times a slope that is drawn in training, for each value."""
    if inplace:
        return over(input, rrelu, lower, upper, training)
    if not training:
        return _core.leaky_relu(input, (lower + upper) / 2)
    slopes = _core.rand(input.shape, dtype=input.dtype) * (upper - lower) + lower
    return _core.where(input >= 0, input, slopes * input)


def glu(input, dim=-1):  # noqa: A002
    """The first half along `dim` times sigmoid() of the second."""
    if input.shape[dim] % 2 != 0:
        raise _core.InvalidArgumentError(
            f"[glu] expected an even length along axis {dim}, got {input.shape[dim]}")
    value, gate = input.chunk(2, dim)
    return value * gate.sigmoid()


def threshold(input, threshold, value, inplace=False):  # noqa: A002
    """x where it is above the threshold, else the value."""
    if inplace:
        return over(input, _threshold, threshold, value)
    return _threshold(input, threshold, value)


def _threshold(input, threshold, value):  # noqa: A002
    return _core.where(input > threshold, input, _core.full_like(input, value))


def tanhshrink(input):  # noqa: A002
    """x - tanh(x)."""
    return input - input.tanh()


def softshrink(input, lambd=0.5):  # noqa: A002
    """x moved towards 0 by lambd, and 0 between."""
    if lambd < 0:
        raise _core.InvalidArgumentError(f"[softshrink] expected lambd >= 0, got {lambd}")
    return input - input.clamp(-lambd, lambd)


def hardshrink(input, lambd=0.5):  # noqa: A002
    """x, and 0 where |x| <= lambd."""
    return input.masked_fill(input.abs() <= lambd, 0.0)


def gumbel_softmax(logits, tau=1.0, hard=False, eps=1e-10, dim=-1):
    """softmax() of logits with Gumbel noise, over tau; with `hard` one-hot forward."""
    del eps
    if not tau > 0:
        raise _core.InvalidArgumentError(f"[gumbel_softmax] expected tau above 0, got {tau}")
    noise = -(-(1.0 - _core.rand(logits.shape, dtype=logits.dtype)).log()).clamp(min=1e-30).log()
    soft = _core.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    place = soft.detach().argmax(dim, True)
    one = _core.zeros(logits.shape, dtype=logits.dtype).scatter(
        dim, place, _core.ones(place.shape, dtype=logits.dtype))
    return one - soft.detach() + soft


def _in_place(function):
    def written(input, *args, **keywords):  # noqa: A002
        return function(input, *args, **keywords, inplace=True)

    written.__name__ = written.__qualname__ = function.__name__ + "_"
    written.__doc__ = f"{function.__name__}(), written over the input."
    return written


celu_, elu_, hardtanh_, leaky_relu_, relu_, rrelu_, selu_, threshold_ = (
    _in_place(function) for function in (celu, elu, hardtanh, leaky_relu, relu, rrelu, selu,
                                         threshold))
