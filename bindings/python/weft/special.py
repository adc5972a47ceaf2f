"""weft.special: functions of mathematics, which are weft.NAME as well."""
import math

import weft
from weft import (  # noqa: F401
    digamma, erf, erfc, erfinv, exp2, expm1, i0, log1p, log_softmax, logit, logsumexp, polygamma,
    round, sinc, softmax, xlogy)
from weft._names.special import _apply

expit, gammaln, psi = weft.sigmoid, weft.lgamma, weft.digamma


def entr(input):  # noqa: A002
    """-x log(x), 0 at 0, and -infinity below it."""
    return weft.where(input < 0, -math.inf, -weft.xlogy(input, input))


def i1(input):  # noqa: A002
    """The modified Bessel function of order 1."""
    return _apply("i1", input)


def xlog1py(input, other):  # noqa: A002
    """input log(1 + other), and 0 where input is 0."""
    return weft.where(input == 0, 0.0, input * weft.log1p(weft.where(input == 0, 1.0, other)))


def ndtr(input):  # noqa: A002
    """The share of a standard normal distribution below x."""
    return weft.erfc(input * -math.sqrt(0.5)) / 2


def ndtri(input):  # noqa: A002
    """The inverse of ndtr()."""
    return weft.erfinv(2 * input - 1) * math.sqrt(2)


def log_ndtr(input):  # noqa: A002
    """log(ndtr(x))."""
    return ndtr(input).log()
