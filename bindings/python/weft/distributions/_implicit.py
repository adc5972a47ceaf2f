"""How draws of gamma and beta distributions move with their shape parameters.

A draw x with distribution function F(x; a) keeps its share F where x moves by dx/da =
-(dF/da) / f(x) (Figurnov, Mohamed and Mnih, "Implicit Reparameterization Gradients", 2018). Since
d(log f)/da = s(t), a statistic of mean zero, dx/da = -(1 / f(x)) * integral of s f below x, or the
integral above x: of the two the one whose integrand falls away from x is taken, so that nothing
cancels. It is summed by the rule of Gauss and Legendre in the logarithm (gamma) or the logit (beta)
of t, in which integrands are smooth. All of it is in float64.
"""
import functools
import math

import weft

_DEPTH = 38.0  # e^-38 of the integrand's height is left out
_TERMS = 30    # the series for gammas below 1: 1 / 30! is left out
# Nodes of the rule: the logit's functions have poles at a distance of pi from the real line, and
# by that many nodes the error is below rounding for widths up to 30, or for all that come.
_FEW, _MANY, _NARROW = 48, 128, 30


@functools.lru_cache(maxsize=None)
def _rule(nodes):
    """Places in [0, 1] and their weights, as pairs of numbers."""
    found = []
    for number in range(nodes):
        x = math.cos(math.pi * (number + 0.75) / (nodes + 0.5))
        for _ in range(50):  # Newton's method on the polynomial of Legendre
            before, value = 1.0, x
            for degree in range(2, nodes + 1):
                before, value = value, ((2 * degree - 1) * x * value
                                        - (degree - 1) * before) / degree
            slope = nodes * (x * value - before) / (x * x - 1)
            step = value / slope
            x -= step
            if abs(step) < 1e-15:
                break
        found.append(((1 - x) / 2, 1 / ((1 - x * x) * slope * slope)))
    return found


def _integral(integrand, width):
    """The integral of integrand(s) for s in [0, width], for every element of `width`."""
    total = weft.zeros_like(width)
    narrow = width.numel() == 0 or width.max().item() <= _NARROW
    for place, weight in _rule(_FEW if narrow else _MANY):
        total = total + weight * integrand(width * place)
    return total * width


def _width(exponent, most):
    """Where a falling exponent(s), 0 at s = 0, is about -38; `most` is a bound."""
    low, high = most * 1e-7, most
    for _ in range(10):
        middle = (low * high).sqrt()
        inside = exponent(middle) > -_DEPTH
        low, high = weft.where(inside, middle, low), weft.where(inside, high, middle)
    return high


def _gamma_near_zero(x, shape):
    """By the series P(a, x) = x^a e^-x / gamma(a + 1) * sum of x^n / ((a + 1) ... (a + n))."""
    term, harmonic = weft.ones_like(x), weft.zeros_like(x)
    total, weighted = weft.ones_like(x), weft.zeros_like(x)
    for n in range(1, _TERMS):
        term = term * x / (shape + n)
        harmonic = harmonic + 1 / (shape + n)
        total, weighted = total + term, weighted + term * harmonic
    return -(x / shape) * (total * (x.log() - (shape + 1).digamma()) - weighted)


def _gamma_by_integral(x, shape):
    """With t = x e^-s below x, t = x e^s above it."""
    below = x < shape
    sign = weft.where(below, -1.0, 1.0).to(x.dtype)
    centre = sign * (x.log() - shape.digamma())

    def exponent(s):
        return sign * shape * s - x * (sign * s).expm1()

    most = weft.where(below, (_DEPTH + x) / shape, (2 * _DEPTH / x).sqrt())
    return x * _integral(lambda s: (centre + s) * exponent(s).exp(), _width(exponent, most))


def gamma_slope(value, concentration):
    """dx/da of draws x of the gamma distribution of shape a and rate 1; gives float64."""
    x, shape = value.double().clamp(min=1e-300), concentration.double()
    small = x <= 1
    low = _gamma_near_zero(weft.where(small, x, 0.5), shape)
    high = _gamma_by_integral(weft.where(small, 2.0, x), shape)
    return weft.where(small, low, high)


def beta_slope(value, concentration, total):
    """dx/da / (1 - x) of draws x of the beta distribution of shapes a and total - a, where
    total - a stays; gives float64."""
    x = value.double().clamp(min=1e-300, max=1 - 2.0 ** -53)
    a, b = concentration.double(), (total - concentration).double()
    below = x * (a + b) < a
    sign = weft.where(below, -1.0, 1.0).to(x.dtype)
    log_x, log_rest = x.log(), (-x).log1p()
    start = log_x - log_rest
    # The mean of log(t) is digamma(a) - digamma(a + b); without the pole of digamma at 0:
    mean = (a + 1).digamma() - (a + b).digamma()

    sum_of_shapes, at_start = a + b, a * log_x + b * log_rest
    sign_b, start_b = sign * b, b * start + at_start

    def log_weight(log_t, s):
        """a log(t) + b log(1 - t) at a distance s of the logit, over its value at x."""
        return sum_of_shapes * log_t - (start_b + sign_b * s)

    def log_of(s):
        return weft.nn.functional.logsigmoid(start + sign * s)

    # The side on which the integrand falls as e^(-shape s), from a height that it would have had
    # at s = 0.
    shape, log_height = weft.where(below, a, b), -sum_of_shapes * weft.where(below, log_rest, log_x)
    middle, slow = mean - 1 / a, shape < 1

    def integrand(s):
        log_t = log_of(s)
        return (log_t - middle) * log_weight(log_t, s).exp()

    fast = _width(lambda s: log_weight(log_of(s), s), (_DEPTH + log_height) / shape)
    if not slow.any():
        return x * sign * _integral(integrand, fast)
    # A slow fall is integrated by itself, without a sum; the rest of it ends soon.
    height, rate = weft.where(slow, log_height, 0.0).exp(), weft.where(slow, shape, 1.0)

    def rest(s):
        statistic = weft.where(below, s + middle - start, -middle)
        tail = weft.where(slow, statistic * height * (-rate * s).exp(), 0.0)
        return sign * integrand(s) - tail

    ends = (-sign * start).clamp(min=0) + 40
    found = _integral(rest, weft.where(slow, ends, fast))
    tails = weft.where(below, ((mean - start) + (1 / rate - 1 / a)) / rate, -middle / rate)
    return x * (found + weft.where(slow, height * tails, 0.0))
