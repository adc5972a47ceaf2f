"""Functions of each element, or of the elements of two arrays, which broadcast.

What Weft has no operation for is made of those it has; the formulas stand beside their functions.
"""
import math

import weft

from . import _dtypes
from ._array import Array, of_kind, operands

LN10 = math.log(10.0)
LARGE = 1e8  # beyond, x^2 + 1 is x^2 in float64, too


def _unary(name, of, dtypes, exact=()):
    """`of` on Tensors; those of the types `exact` come back as they are."""
    def function(x, /):
        tensor = of_kind(x, dtypes, name)
        return Array(tensor.clone() if tensor.dtype in exact else of(tensor))
    function.__name__ = function.__qualname__ = name
    return function


def _binary(name, of, dtypes):
    def function(x1, x2, /):
        return Array(of(*operands(x1, x2, dtypes, name)))
    function.__name__ = function.__qualname__ = name
    return function


def _full_like(x, value):
    return weft.full((), value, dtype=x.dtype)


def _where(condition, a, b):
    shape = condition.shape
    return weft.where(condition, a.expand(shape), b.expand(shape))


def _whole(x):
    return x.dtype in _dtypes.INTEGRAL


def _negative(x):
    """Whether the sign is minus; sees that of zero."""
    return x < 0 if _whole(x) else weft.atan2(x, _full_like(x, -1.0)) < 0


def _with_sign(magnitude, x):
    magnitude = weft.abs(magnitude)
    return _where(_negative(x), -magnitude, magnitude)


def _keeping_zeros(of):
    """`of`, which has zeros at zeros, with their signs."""
    return lambda x: _where(x == 0, x, of(x))


# --- Of one array.

_NUMERIC, _REAL, _BOOL = _dtypes.NUMERIC, _dtypes.REAL, (_dtypes.bool,)
abs = _unary("abs", weft.abs, _NUMERIC, _dtypes.UNSIGNED)
ceil = _unary("ceil", weft.ceil, _NUMERIC, _dtypes.INTEGRAL)
cos = _unary("cos", weft.cos, _REAL)
exp = _unary("exp", weft.exp, _REAL)
expm1 = _unary("expm1", _keeping_zeros(weft.expm1), _REAL)
floor = _unary("floor", weft.floor, _NUMERIC, _dtypes.INTEGRAL)
isfinite = _unary("isfinite", weft.isfinite, _NUMERIC)
isinf = _unary("isinf", weft.isinf, _NUMERIC)
isnan = _unary("isnan", weft.isnan, _NUMERIC)
log = _unary("log", weft.log, _REAL)
log1p = _unary("log1p", weft.log1p, _REAL)
log2 = _unary("log2", weft.log2, _REAL)
log10 = _unary("log10", lambda x: weft.log(x) / LN10, _REAL)
logical_not = _unary("logical_not", weft.logical_not, _BOOL)
negative = _unary("negative", weft.neg, _NUMERIC)
positive = _unary("positive", lambda x: x.clone(), _NUMERIC)
round = _unary("round", weft.round, _NUMERIC, _dtypes.INTEGRAL)
sign = _unary("sign", weft.sign, _NUMERIC)
signbit = _unary("signbit", _negative, _REAL)
sin = _unary("sin", weft.sin, _REAL)
square = _unary("square", weft.square, _NUMERIC)
sqrt = _unary("sqrt", weft.sqrt, _REAL)
tan = _unary("tan", lambda x: weft.sin(x) / weft.cos(x), _REAL)
tanh = _unary("tanh", _keeping_zeros(weft.tanh), _REAL)
trunc = _unary("trunc", weft.trunc, _NUMERIC, _dtypes.INTEGRAL)
atan = _unary("atan", lambda x: weft.atan2(x, _full_like(x, 1.0)), _REAL)
asin = _unary("asin", lambda x: weft.atan2(x, weft.sqrt((1 - x) * (1 + x))), _REAL)
acos = _unary("acos", lambda x: weft.atan2(weft.sqrt((1 - x) * (1 + x)), x), _REAL)
atanh = _unary("atanh", lambda x: (weft.log1p(x) - weft.log1p(-x)) / 2, _REAL)
cosh = _unary("cosh", lambda x: weft.exp(weft.abs(x) - math.log(2)) +
              weft.exp(-weft.abs(x)) / 2, _REAL)


def _sinh(x):
    size = weft.abs(x)
    small = (weft.expm1(size) - weft.expm1(-size)) / 2
    return _with_sign(_where(size < 20, small, weft.exp(size - math.log(2))), x)


def _asinh(x):
    size = weft.abs(x)
    inner = weft.minimum(size, _full_like(x, LARGE))
    small = weft.log1p(inner + inner * inner / (1 + weft.sqrt(inner * inner + 1)))
    return _with_sign(_where(size < LARGE, small, weft.log(size) + math.log(2)), x)


def _acosh(x):
    beyond = weft.minimum(x, _full_like(x, LARGE)) - 1
    small = weft.log1p(beyond + weft.sqrt(beyond * 2 + beyond * beyond))
    result = _where(x > LARGE, weft.log(x) + math.log(2), small)
    return _where(x < 1, _full_like(x, math.nan), result)


sinh = _unary("sinh", _sinh, _REAL)
asinh = _unary("asinh", _asinh, _REAL)
acosh = _unary("acosh", _acosh, _REAL)


def bitwise_invert(x, /):
    tensor = of_kind(x, _BOOL + _dtypes.INTEGRAL, "bitwise_invert")
    return Array(weft.logical_not(tensor) if tensor.dtype is _dtypes.bool else -tensor - 1)


# --- Of two arrays.

add = _binary("add", weft.add, _NUMERIC)
atan2 = _binary("atan2", weft.atan2, _REAL)
bitwise_and = _binary("bitwise_and", weft.logical_and, _BOOL)
bitwise_or = _binary("bitwise_or", weft.logical_or, _BOOL)
bitwise_xor = _binary("bitwise_xor", weft.logical_xor, _BOOL)
divide = _binary("divide", weft.div, _REAL)
equal = _binary("equal", weft.eq, _dtypes.ALL)
greater = _binary("greater", weft.gt, _NUMERIC)
greater_equal = _binary("greater_equal", weft.ge, _NUMERIC)
less = _binary("less", weft.lt, _NUMERIC)
less_equal = _binary("less_equal", weft.le, _NUMERIC)
logical_and = _binary("logical_and", weft.logical_and, _BOOL)
logical_or = _binary("logical_or", weft.logical_or, _BOOL)
logical_xor = _binary("logical_xor", weft.logical_xor, _BOOL)
maximum = _binary("maximum", weft.maximum, _NUMERIC)
minimum = _binary("minimum", weft.minimum, _NUMERIC)
multiply = _binary("multiply", weft.mul, _NUMERIC)
not_equal = _binary("not_equal", weft.ne, _dtypes.ALL)
pow = _binary("pow", weft.pow, _NUMERIC)
subtract = _binary("subtract", weft.sub, _NUMERIC)


def _broadcast(x, y):
    shape = (x + y).shape
    return x.expand(shape), y.expand(shape)


def _remainder(x, y):
    """Weft's, and x itself, or y, where y is infinite, as the sign asks for; -0 for x = -0."""
    result = weft.remainder(x, y)
    if _whole(x):
        return result
    x, y = _broadcast(x, y)
    same = weft.logical_or(_negative(x) == _negative(y), x == 0)
    endless = weft.logical_and(weft.isinf(y), weft.isfinite(x))
    result = _where(endless, _where(same, x, y), result)
    return _where(weft.logical_and(result == 0, weft.logical_not(weft.isnan(result))),
                  _with_sign(result, y), result)


def _floor_divide(x, y):
    """Weft's, and where y is infinite the whole number below the fraction: 0 or -1."""
    result = weft.floor_divide(x, y)
    if _whole(x):
        return result
    x, y = _broadcast(x, y)
    endless = weft.logical_and(weft.isinf(y), weft.isfinite(x))
    apart = _negative(x) != _negative(y)
    zero = _where(apart, _full_like(x, -0.0), _full_like(x, 0.0))
    below = _where(weft.logical_and(apart, x != 0), _full_like(x, -1.0), zero)
    return _where(endless, below, result)


def _logaddexp(x, y):
    """max + log(1 + e^-|x - y|); equal infinities have no difference."""
    x, y = _broadcast(x, y)
    above = weft.maximum(x, y)
    apart = _where(x == y, _full_like(x, 0.0), weft.abs(x - y))
    return above + weft.log1p(weft.exp(-apart))


def _hypot(x, y):
    """The larger times the root of 1 + the fraction's square: nothing overflows on the way."""
    x, y = _broadcast(weft.abs(x), weft.abs(y))
    large, small = weft.maximum(x, y), weft.minimum(x, y)
    part = small / _where(large == 0, _full_like(x, 1.0), large)
    endless = weft.logical_or(weft.isinf(x), weft.isinf(y))
    return _where(endless, _full_like(x, math.inf), large * weft.sqrt(1 + part * part))


def _copysign(x, y):
    return _with_sign(*_broadcast(x, y))


def _power_of_2(places):
    return weft.pow(weft.full((), 2), places)


def _shift_left(x, places):
    return x * _power_of_2(places)


def _shift_right(x, places):
    """In two steps: 2^63 does not fit, and 2^64 would be 0."""
    places = weft.minimum(places, weft.full((), 63))
    half = weft.floor_divide(places, 2)
    return weft.floor_divide(weft.floor_divide(x, _power_of_2(half)), _power_of_2(places - half))


def _shifted(name, of):
    def function(x1, x2, /):
        x, y = operands(x1, x2, _dtypes.INTEGRAL, name)
        return Array(of(x._cast(_dtypes.int64), y._cast(_dtypes.int64))._cast(x.dtype))
    function.__name__ = function.__qualname__ = name
    return function


remainder = _binary("remainder", _remainder, _NUMERIC)
floor_divide = _binary("floor_divide", _floor_divide, _NUMERIC)
logaddexp = _binary("logaddexp", _logaddexp, _REAL)
hypot = _binary("hypot", _hypot, _REAL)
copysign = _binary("copysign", _copysign, _REAL)
bitwise_left_shift = _shifted("bitwise_left_shift", _shift_left)
bitwise_right_shift = _shifted("bitwise_right_shift", _shift_right)


def clip(x, /, min=None, max=None):
    tensor = of_kind(x, _NUMERIC, "clip")
    shape = tensor.shape
    for bound, of in ((min, weft.maximum), (max, weft.minimum)):
        if bound is None:
            continue
        other = operands(x, bound, (tensor.dtype,), "clip")[1]
        tensor = of(*_broadcast(tensor, other))
    return Array(tensor.clone() if tensor.shape == shape and min is None and max is None
                 else tensor)


# --- The operators of Array.

def _operator(of, reverse=False):
    def method(self, other, /):
        if not isinstance(other, (Array, int, float)):
            return NotImplemented
        return of(other, self) if reverse else of(self, other)
    return method


def install():
    pairs = {"add": add, "sub": subtract, "mul": multiply, "truediv": divide,
             "floordiv": floor_divide, "mod": remainder, "pow": pow, "and": bitwise_and,
             "or": bitwise_or, "xor": bitwise_xor, "lshift": bitwise_left_shift,
             "rshift": bitwise_right_shift}
    for name, of in pairs.items():
        setattr(Array, f"__{name}__", _operator(of))
        setattr(Array, f"__r{name}__", _operator(of, reverse=True))
    for name, of in {"eq": equal, "ne": not_equal, "lt": less, "le": less_equal, "gt": greater,
                     "ge": greater_equal}.items():
        setattr(Array, f"__{name}__", _operator(of))
    for name, of in {"neg": negative, "pos": positive, "abs": abs,
                     "invert": bitwise_invert}.items():
        setattr(Array, f"__{name}__", (lambda of: lambda self: of(self))(of))


install()
