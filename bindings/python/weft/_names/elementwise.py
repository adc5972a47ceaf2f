"""Functions of each value, made of others."""
import math as _math

from weft import _core
from weft._names._table import Tensor as _Tensor, method as _method, refuse as _refuse
from weft._names._table import number_or_tensor as _number_or_tensor
from weft._names._table import require_tensor as _require_tensor
from weft._names._table import sum_to_size as _sum_to_size

_where = _core.where
_round_to_whole = _core.round


@_method
def frac(input):  # noqa: A002
    """What trunc() leaves of each value."""
    return input - input.trunc()


@_method
def round(input, *, decimals=0):  # noqa: A001,A002
    """To so many decimals, ties to even."""
    _require_tensor("round", input)
    if decimals == 0:
        return _round_to_whole(input)
    scale = 10.0 ** abs(decimals)
    return (_round_to_whole(input * scale) / scale if decimals > 0
            else _round_to_whole(input / scale) * scale)


@_method
def clamp_min(input, min):  # noqa: A002
    """The larger of each value and `min`."""
    return input.clamp(min=min)


@_method
def clamp_max(input, max):  # noqa: A002
    """The smaller of each value and `max`."""
    return input.clamp(max=max)


def _without_nan(pairwise, input, other):  # noqa: A002
    lone = _where(_core.isnan(input), other, input), _where(_core.isnan(other), input, other)
    return pairwise(*lone)


@_method
def fmax(input, other):  # noqa: A002
    """The larger of each pair; of a NaN and a number the number."""
    return _without_nan(_core.maximum, input, other)


@_method
def fmin(input, other):  # noqa: A002
    """The smaller of each pair; of a NaN and a number the number."""
    return _without_nan(_core.minimum, input, other)


def _pair(input, other):  # noqa: A002
    from weft._names.shapes import broadcast_tensors

    return _core.stack(broadcast_tensors(input, other))


@_method
def logaddexp(input, other):  # noqa: A002
    """log(e^input + e^other), without overflow."""
    return _pair(input, other).logsumexp(0)


@_method
def logaddexp2(input, other):  # noqa: A002
    """log2(2^input + 2^other), without overflow."""
    two = _math.log(2)
    return (_pair(input, other) * two).logsumexp(0) / two


@_method
def nan_to_num(input, nan=None, posinf=None, neginf=None):  # noqa: A002
    """Finite numbers in place of NaN (0) and infinities (the type's limits)."""
    _require_tensor("nan_to_num", input)
    if not input.is_floating_point():
        return input.clone()
    from weft._limits import finfo

    limits = finfo(input.dtype)
    found = _where(_core.isnan(input), 0.0 if nan is None else float(nan), input)
    above = limits.max if posinf is None else float(posinf)
    found = _where(input == _math.inf, above, found)
    return _where(input == -_math.inf, limits.min if neginf is None else float(neginf), found)


@_method
def heaviside(input, values):  # noqa: A002
    """0 below 0, 1 above it, and `values` at it."""
    if input.dtype is not values.dtype:
        raise _refuse("heaviside", "two tensors of one type", f"{input.dtype} and {values.dtype}")
    step = _where(input > 0, 1, 0).to(input.dtype)
    return _where(_core.isnan(input), input, _where(input == 0, values, step))


@_method
def xlogy(input, other):  # noqa: A002
    """input log(other), and 0 where input is 0."""
    beside = input if isinstance(input, _Tensor) else other
    input, other = (_number_or_tensor(each, beside) for each in (input, other))  # noqa: A001
    # Only there, so that elsewhere an input of 0 has its slope, log(other).
    empty = (input == 0) & ((other <= 0) | (other == _math.inf))
    return input * _where(empty, 1.0, other).log()


@_method
def float_power(input, exponent):  # noqa: A002
    """input ** exponent in float64."""
    base = input.double() if isinstance(input, _Tensor) else _core.tensor(
        input, dtype=_core.float64)
    return base ** (exponent.double() if isinstance(exponent, _Tensor) else exponent)


@_method
def true_divide(input, other):  # noqa: A002
    """input / other."""
    return _core.div(input, other)


@_method
def rsub(input, other, *, alpha=1):  # noqa: A002
    """other - alpha * input."""
    return other - input * alpha


@_method
def addcmul(input, tensor1, tensor2, *, value=1):  # noqa: A002
    """input + value * tensor1 * tensor2."""
    return input + tensor1 * tensor2 * value


@_method
def addcdiv(input, tensor1, tensor2, *, value=1):  # noqa: A002
    """input + value * tensor1 / tensor2."""
    if not (tensor1.is_floating_point() or tensor2.is_floating_point()):
        raise _refuse("addcdiv", "floating tensors, as whole numbers are not divided here",
                      f"{tensor1.dtype} and {tensor2.dtype}")
    return input + tensor1 / tensor2 * value


@_method
def lerp(input, end, weight):  # noqa: A002
    """input + weight * (end - input)."""
    _require_tensor("lerp", input)
    way = end - input
    if not isinstance(weight, _Tensor):
        return input + way * weight if abs(weight) < 0.5 else end - way * (1 - weight)
    return _where(weight.abs() < 0.5, input + way * weight, end - way * (1 - weight))


@_method
def deg2rad(input):  # noqa: A002
    """Degrees as radians."""
    return input * (_math.pi / 180)


@_method
def rad2deg(input):  # noqa: A002
    """Radians as degrees."""
    return input * (180 / _math.pi)


@_method
def positive(input):  # noqa: A002
    """The values as they are."""
    if input.dtype is getattr(_core, "bool"):
        raise _refuse("positive", "numbers", "weft.bool")
    return input


@_method
def sgn(input):  # noqa: A002
    """sign()."""
    return input.sign()


@_method
def signbit(input):  # noqa: A002
    """bool: whether the sign is minus, also of -0."""
    if not input.is_floating_point():
        return input < 0
    return _core._special_of_two("copysign", _core.ones_like(input), input.detach()) < 0


@_method
def isposinf(input):  # noqa: A002
    """bool: +infinity."""
    return _core.isinf(input) & (input > 0)


@_method
def isneginf(input):  # noqa: A002
    """bool: -infinity."""
    return _core.isinf(input) & (input < 0)


@_method
def isreal(input):  # noqa: A002
    """bool: true everywhere, as there are no complex numbers."""
    return _core.ones_like(input, dtype=getattr(_core, "bool"))


@_method
def logit(input, eps=None):  # noqa: A002
    """log(x / (1 - x)); with `eps` of x moved into [eps, 1 - eps]."""
    if not input.is_floating_point():
        input = input.to(_core.get_default_dtype())  # noqa: A001
    if eps is not None:
        input = input.clamp(eps, 1 - eps)  # noqa: A001
    return (input / (1 - input)).log()


@_method
def ldexp(input, other):  # noqa: A002
    """input * 2^other."""
    return input * _core.pow(_core.tensor(2.0), other)


@_method
def gcd(input, other):  # noqa: A002
    """The greatest common divisor of whole numbers."""
    if input.is_floating_point() or other.is_floating_point():
        raise _refuse("gcd", "whole numbers", f"{input.dtype} and {other.dtype}")
    a, b = input.abs() + other * 0, other.abs() + input * 0
    while bool((b != 0).any()):
        rest = _core.remainder(a, _where(b == 0, 1, b))
        a, b = _where(b == 0, a, b), _where(b == 0, b, rest)
    return a


@_method
def lcm(input, other):  # noqa: A002
    """The least common multiple of whole numbers."""
    divisor = gcd(input, other)
    return (input // _where(divisor == 0, 1, divisor) * other).abs()


@_method
def softmin(input, dim):  # noqa: A002
    """softmax(-x)."""
    return (-input).softmax(dim)


@_method
def sum_to_size(input, *size):  # noqa: A002
    """Summed over the axes along which a tensor of that size would be repeated."""
    wanted = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return _sum_to_size(input, wanted)


@_method
def trapezoid(y, x=None, *, dx=1, dim=-1):
    """The integral of values by trapezoids, `dx` or the differences of `x` wide."""
    mean = (y.narrow(dim, 1, y.shape[dim] - 1) + y.narrow(dim, 0, y.shape[dim] - 1)) / 2
    if x is None:
        return (mean * dx).sum(dim)
    steps = x.narrow(-1, 1, x.shape[-1] - 1) - x.narrow(-1, 0, x.shape[-1] - 1)
    if x.ndim == 1:
        steps = steps.reshape([-1 if i == dim % y.ndim else 1 for i in range(y.ndim)])
    return (mean * steps).sum(dim)


def _alias(name, function):
    """Another name of a native function, on Tensor as well."""
    setattr(_Tensor, name, getattr(_Tensor, function))
    return getattr(_core, function)


clip = _alias("clip", "clamp")
multiply, divide, subtract = (_alias(name, function) for name, function in (
    ("multiply", "mul"), ("divide", "div"), ("subtract", "sub")))
absolute, negative, fix = (_alias(name, function) for name, function in (
    ("absolute", "abs"), ("negative", "neg"), ("fix", "trunc")))
greater, greater_equal, less, less_equal, not_equal = (_alias(name, function) for name, function in (
    ("greater", "gt"), ("greater_equal", "ge"), ("less", "lt"), ("less_equal", "le"),
    ("not_equal", "ne")))
arctan2, trapz = _alias("arctan2", "atan2"), trapezoid
