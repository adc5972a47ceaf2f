"""weft.special: functions of mathematics, which are weft.NAME as well."""
import math

import weft
from weft import (  # noqa: F401
    digamma, erf, erfc, erfinv, exp2, expm1, i0, log1p, log_softmax, logit, logsumexp, polygamma,
    round, sinc, softmax, xlogy)
from weft._names._table import number_or_tensor, require_tensor
from weft._names.special import _FUNCTIONS, _apply

expit, gammaln, psi = weft.sigmoid, weft.lgamma, weft.digamma
gammainc, gammaincc, multigammaln = weft.igamma, weft.igammac, weft.mvlgamma


def entr(input):  # noqa: A002
    """-x log(x), 0 at 0, and -infinity below it."""
    return weft.where(input < 0, -math.inf, -weft.xlogy(input, input))


def _of_table(name, row):
    def function(input):  # noqa: A002
        return _apply(row, require_tensor(name, input))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _FUNCTIONS[row][1]
    return function


i1, i0e, i1e, erfcx, bessel_j0, bessel_j1, bessel_y0, bessel_y1 = (
    _of_table(name, name) for name in (
        "i1", "i0e", "i1e", "erfcx", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"))
modified_bessel_i0, modified_bessel_i1, modified_bessel_k0, modified_bessel_k1 = (
    _of_table("modified_bessel_" + row[-2:], row) for row in (
        "i0", "i1", "bessel_k0", "bessel_k1"))


def zeta(input, other):  # noqa: A002
    """The sum of (other + n)^-input over n = 0, 1, ...: the zeta function of Hurwitz."""
    beside = input if isinstance(input, weft.Tensor) else require_tensor("zeta", other, "other")
    order, start = (number_or_tensor(each, beside) for each in (input, other))
    kind = weft.promote_types(weft.promote_types(order.dtype, start.dtype), (
        weft.get_default_dtype() if not beside.is_floating_point() else beside.dtype))
    return weft._core._special_of_two("zeta", order.to(kind), start.to(kind))


def xlog1py(input, other):  # noqa: A002
    """input log(1 + other), and 0 where input is 0."""
    beside = input if isinstance(input, weft.Tensor) else other
    input, other = (number_or_tensor(each, beside) for each in (input, other))  # noqa: A001
    empty = (input == 0) & ((other <= -1) | (other == math.inf))
    return input * weft.log1p(weft.where(empty, 0.0, other))


def ndtr(input):  # noqa: A002
    """The share of a standard normal distribution below x."""
    return weft.erfc(input * -math.sqrt(0.5)) / 2


def ndtri(input):  # noqa: A002
    """The inverse of ndtr()."""
    return weft.erfinv(2 * input - 1) * math.sqrt(2)


def log_ndtr(input):  # noqa: A002
    """log(ndtr(x))."""
    return ndtr(input).log()
