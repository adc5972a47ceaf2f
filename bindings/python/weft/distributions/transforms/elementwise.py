"""Transforms of one number."""
import math
from numbers import Number, Real

import weft
from weft._limits import finfo
from weft.distributions import constraints
from weft.distributions.transforms.base import Transform
from weft.distributions.utils import broadcast_all, sum_rightmost
from weft.nn.functional import softplus


class Alike(Transform):
    """One without parameters: all objects of its class are equal."""

    def __eq__(self, other):
        return type(self) is type(other)

    __hash__ = object.__hash__


class _Rising(Alike):
    domain, bijective, sign = constraints.real, True, 1


class ExpTransform(_Rising):
    """y = exp(x)."""

    codomain = constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


def clipped_sigmoid(x):
    """sigmoid(x), off 0 and 1."""
    limits = finfo(x.dtype)
    return x.sigmoid().clamp(min=limits.tiny, max=1 - limits.eps)


class SigmoidTransform(_Rising):
    """y = 1 / (1 + exp(-x)), logit(y) = x."""

    codomain = constraints.unit_interval

    def _call(self, x):
        return clipped_sigmoid(x)

    def _inverse(self, y):
        limits = finfo(y.dtype)
        inside = y.clamp(min=limits.tiny, max=1 - limits.eps)
        return inside.log() - (-inside).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Rising):
    """y = log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return y + (-(-y).expm1()).log()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(_Rising):
    """y = tanh(x); cache_size=1 spares its inverse, which is inexact near -1 and 1."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2 * (math.log(2) - x - softplus(-2 * x))


class AbsTransform(Alike):
    """y = |x|; as the inverse stands x = y."""

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class PowerTransform(Transform):
    """y = x^exponent, for positive x."""

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.exponent, = broadcast_all(exponent)

    def _again(self, cache_size):
        return PowerTransform(self.exponent, cache_size)

    @property
    def sign(self):
        """The exponent's."""
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    __hash__ = object.__hash__

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return weft.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _same(a, b):
    """Whether two numbers or tensors are equal."""
    if isinstance(a, Number) and isinstance(b, Number):
        return a == b
    return bool((a == b).all())


class AffineTransform(Transform):
    """y = loc + scale * x; event_dim axes belong to one value."""

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    def _again(self, cache_size):
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size)

    @property
    def event_dim(self):
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """Real numbers."""
        more = self._event_dim
        return constraints.independent(constraints.real, more) if more else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        """Real numbers."""
        return self.domain

    @property
    def sign(self):
        if isinstance(self.scale, Real):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def __eq__(self, other):
        return (isinstance(other, AffineTransform) and _same(self.loc, other.loc)
                and _same(self.scale, other.scale))

    __hash__ = object.__hash__

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, Real):
            each = weft.full_like(x, math.log(abs(self.scale)))
        else:
            each = self.scale.abs().log().expand(weft.broadcast_shapes(self.scale.shape, x.shape))
        return sum_rightmost(each, self._event_dim)

    def forward_shape(self, shape):
        return weft.broadcast_shapes(shape, getattr(self.loc, "shape", ()),
                                     getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = distribution.cdf(x), uniform in [0, 1] for its draws."""

    bijective, sign, codomain = True, 1, constraints.unit_interval

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    def _again(self, cache_size):
        return CumulativeDistributionTransform(self.distribution, cache_size)

    @property
    def domain(self):
        """The distribution's support."""
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
