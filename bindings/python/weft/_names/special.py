"""Functions of one number that have no kernel of their own: computed by _core._special, with the
slopes of this table."""
import math as _math

from weft import _core
from weft._names._table import Tensor as _Tensor, method as _method, recorded as _recorded
from weft._names._table import refuse as _refuse, require_tensor as _require_tensor

_where = _core.where


def _computed(name, x):
    return _apply(name, x)


def _sinc_slope(x):
    at_zero = x == 0
    safe = _where(at_zero, 1.0, x)
    angle = safe * _math.pi
    return _where(at_zero, 0.0, (angle.cos() - _computed("sinc", safe)) / safe)


# name: (slope, what it is).
_FUNCTIONS = {
    "tan": (lambda x: _computed("tan", x).square() + 1, "The tangent."),
    "asin": (lambda x: (1 - x * x).rsqrt(), "The angle whose sine is x."),
    "acos": (lambda x: -(1 - x * x).rsqrt(), "The angle whose cosine is x."),
    "atan": (lambda x: 1 / (1 + x * x), "The angle whose tangent is x."),
    "sinh": (lambda x: _computed("cosh", x), "The hyperbolic sine."),
    "cosh": (lambda x: _computed("sinh", x), "The hyperbolic cosine."),
    "asinh": (lambda x: (x * x + 1).rsqrt(), "The inverse of sinh."),
    "acosh": (lambda x: (x * x - 1).rsqrt(), "The inverse of cosh."),
    "atanh": (lambda x: 1 / (1 - x * x), "The inverse of tanh."),
    "log10": (lambda x: 1 / (x * _math.log(10)), "The logarithm to base 10."),
    "erfc": (lambda x: (-(x * x)).exp() * (-2 / _math.sqrt(_math.pi)), "1 - erf(x)."),
    "erfinv": (lambda x: _computed("erfinv", x).square().exp() * (_math.sqrt(_math.pi) / 2),
               "The inverse of erf."),
    "lgamma": (lambda x: _computed("digamma", x), "log |gamma(x)|."),
    "digamma": (lambda x: _computed("trigamma", x), "The slope of lgamma."),
    "trigamma": (None, "The slope of digamma."),
    "i0": (lambda x: _computed("i1", x), "The modified Bessel function of order 0."),
    "i1": (None, "The modified Bessel function of order 1."),
    "sinc": (_sinc_slope, "sin(pi x) / (pi x), 1 at 0."),
}


def _apply(name, x):
    if not x.is_floating_point():
        return _core._special(name, x)
    slope = _FUNCTIONS[name][0]
    output = _core._special(name, x)
    if slope is None or not x.requires_grad:
        return output
    return _recorded(name, output, [x], lambda gradient, saved: [gradient * slope(saved)])


def _made(name, text):
    def function(input):  # noqa: A002
        return _apply(name, _require_tensor(name, input))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return _method(function)


tan, asin, acos, atan = (_made(name, _FUNCTIONS[name][1]) for name in (
    "tan", "asin", "acos", "atan"))
sinh, cosh, asinh, acosh, atanh = (_made(name, _FUNCTIONS[name][1]) for name in (
    "sinh", "cosh", "asinh", "acosh", "atanh"))
log10, erfc, erfinv, lgamma, digamma, i0, sinc = (_made(name, _FUNCTIONS[name][1]) for name in (
    "log10", "erfc", "erfinv", "lgamma", "digamma", "i0", "sinc"))


@_method
def polygamma(n, input):  # noqa: A002
    """The slope of order n of digamma: n 0 or 1."""
    if isinstance(n, _Tensor):  # x.polygamma(n)
        n, input = input, n  # noqa: A001
    if n not in (0, 1):
        raise _refuse("polygamma", "an order of 0 or 1", n)
    return _apply(("digamma", "trigamma")[n], _require_tensor("polygamma", input))


@_method
def mvlgamma(input, p):  # noqa: A002
    """The logarithm of the multivariate gamma function of dimension p."""
    _require_tensor("mvlgamma", input)
    if isinstance(p, bool) or not isinstance(p, int) or p < 1:
        raise _refuse("mvlgamma", "a whole number p >= 1", repr(p))
    halves = _core.arange(p, dtype=input.dtype if input.is_floating_point() else None) * 0.5
    total = p * (p - 1) / 4 * _math.log(_math.pi)
    return lgamma(input.unsqueeze(-1) - halves).sum(-1) + total


@_method
def fmod(input, other):  # noqa: A002
    """The rest of input / other, with the sign of input."""
    _require_tensor("fmod", input)
    if not isinstance(other, _Tensor):
        keeps = isinstance(other, int) or input.is_floating_point()
        other = _core.tensor(other, dtype=input.dtype if keeps else None)
    if not input.is_floating_point() and not other.is_floating_point() and (other == 0).any():
        raise _core.DivisionByZeroError("[fmod] expected no whole number divided by 0")
    return _recorded("fmod", _core._special_of_two("fmod", input, other), [input, other],
                     lambda dy, a, b: [dy, -dy * (a / b).trunc()])


@_method
def hypot(input, other):  # noqa: A002
    """The root of input^2 + other^2, without overflow in between."""
    _require_tensor("hypot", input)
    _require_tensor("hypot", other, "other")
    output = _core._special_of_two("hypot", input, other)
    return _recorded("hypot", output, [input, other],
                     lambda dy, a, b: [dy * a / hypot(a, b), dy * b / hypot(a, b)])


@_method
def copysign(input, other):  # noqa: A002
    """|input| with the sign of other."""
    _require_tensor("copysign", input)
    if not isinstance(other, _Tensor):
        other = _core.tensor(float(other))
    if not input.is_floating_point():
        input = input.to(_core.get_default_dtype())  # noqa: A001
    output = _core._special_of_two("copysign", input, other)
    return _recorded("copysign", output, [input, other],
                     lambda dy, a, b: [dy * copysign(a, b) / a, None])


arcsin, arccos, arctan, arcsinh, arccosh, arctanh = asin, acos, atan, asinh, acosh, atanh
