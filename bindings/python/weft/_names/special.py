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


def _over(name, x, at_zero):
    """NAME(x) / x, which is `at_zero` at 0."""
    zero = x == 0
    return _where(zero, at_zero, _computed(name, x) / _where(zero, 1.0, x))


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
    "digamma": (lambda x: polygamma(1, x), "The slope of lgamma."),
    "i0": (lambda x: _computed("i1", x), "The modified Bessel function of order 0."),
    "i1": (lambda x: _computed("i0", x) - _over("i1", x, 0.5), "That of order 1."),
    "i0e": (lambda x: _computed("i1e", x) - x.sign() * _computed("i0e", x), "i0(x) e^-|x|."),
    "i1e": (lambda x: _computed("i0e", x) - x.sign() * _computed("i1e", x) - _over(
        "i1e", x, 0.5), "i1(x) e^-|x|."),
    "erfcx": (lambda x: 2 * x * _computed("erfcx", x) - 2 / _math.sqrt(_math.pi),
              "erfc(x) e^(x^2)."),
    "bessel_j0": (None, "The Bessel function of the first kind and order 0."),
    "bessel_j1": (None, "The Bessel function of the first kind and order 1."),
    "bessel_y0": (None, "The Bessel function of the second kind and order 0."),
    "bessel_y1": (None, "The Bessel function of the second kind and order 1."),
    "bessel_k0": (None, "The modified Bessel function of the second kind and order 0."),
    "bessel_k1": (None, "The modified Bessel function of the second kind and order 1."),
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
    """The slope of order n of digamma."""
    if isinstance(n, _Tensor):  # x.polygamma(n)
        n, input = input, n  # noqa: A001
    if not hasattr(n, "__index__") or n < 0:
        raise _refuse("polygamma", "an order of at least 0", n)
    _require_tensor("polygamma", input)
    if n == 0:
        return _apply("digamma", input)
    x = input if input.is_floating_point() else input.to(_core.get_default_dtype())
    if n == 1:
        output = _core._special("trigamma", x)
    else:
        order = _core.full((), n + 1.0, dtype=x.dtype)
        output = _core._special_of_two("zeta", order, x) * ((-1.0) ** (n + 1) * _math.factorial(n))
    return _recorded("polygamma", output, [x], lambda dy, saved: [dy * polygamma(n + 1, saved)])


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


@_method
def nextafter(input, other):  # noqa: A002
    """The next value of the type after each of input in the direction of other."""
    _require_tensor("nextafter", input)
    _require_tensor("nextafter", other, "other")
    return _core._nextafter(input.detach(), other.detach())


@_method
def frexp(input):  # noqa: A002
    """(mantissa, exponent): input = mantissa * 2^exponent, with a mantissa from 0.5 to below 1."""
    if not _require_tensor("frexp", input).is_floating_point():
        raise _refuse("frexp", "floating values", input.dtype)
    exponent = _core._special("frexp_exponent", input.detach()).to(_core.int32)
    mantissa = _recorded("frexp", _core._special("frexp_mantissa", input), [input],
                         lambda dy, x: [dy * _core.pow(_core.tensor(2.0, dtype=dy.dtype),
                                                       -frexp(x.detach())[1])])
    return _core._return_types["frexp"]((mantissa, exponent))


def _gamma_share(name, input, other, sign):  # noqa: A002
    _require_tensor(name, input)
    _require_tensor(name, other, "other")
    if not (input.is_floating_point() or other.is_floating_point()):
        raise _refuse(name, "floating values", f"{input.dtype} and {other.dtype}")
    if input.requires_grad and _core.is_grad_enabled():
        raise _refuse(name, "an input that requires no grad, as the slope has no formula: take "
                      ".detach()", "one that does")
    return _recorded(name, _core._special_of_two(name, input, other), [input, other],
                     lambda dy, a, x: [None, dy * sign * ((a - 1) * x.log() - x - lgamma(a)).exp()])


@_method
def igamma(input, other):  # noqa: A002
    """The share of the gamma distribution of shape `input` below `other`."""
    return _gamma_share("igamma", input, other, 1)


@_method
def igammac(input, other):  # noqa: A002
    """1 - igamma(input, other), without the rounding of the difference."""
    return _gamma_share("igammac", input, other, -1)


arcsin, arccos, arctan, arcsinh, arccosh, arctanh = asin, acos, atan, asinh, acosh, atanh
