"""Distributions of a number that location and scale move: Normal, Laplace, Cauchy, Uniform."""
import math

import weft
from weft import _core
from weft._names._table import refuse
from weft.distributions import constraints
from weft.distributions.distribution import Distribution, ExponentialFamily, first_outside
from weft.distributions.utils import broadcast_all

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


class _LocationScale(Distribution):
    """Takes loc and scale; a standardised value is (value - loc) / scale."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample, _fields = True, ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    def _standardised(self, value):
        return (self._checked(value) - self.loc) / self.scale


class Normal(_LocationScale, ExponentialFamily):
    """The normal distribution of mean `loc` and deviation `scale`."""

    _fields, _mean_carrier_measure = ("loc", "scale"), 0

    @property
    def stddev(self):
        return self.scale

    @property
    def variance(self):
        return self.scale.square()

    def rsample(self, sample_shape=()):
        drawn = _core.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + drawn * self.scale

    def log_prob(self, value):
        return -self._standardised(value).square() / 2 - self.scale.log() - _HALF_LOG_TWO_PI

    def cdf(self, value):
        return 0.5 * (1 + (self._standardised(value) / math.sqrt(2)).erf())

    def icdf(self, value):
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self):
        return 0.5 + _HALF_LOG_TWO_PI + self.scale.log()

    @property
    def _natural_params(self):
        return self.loc / self.variance, -0.5 / self.variance

    def _log_normalizer(self, x, y):
        return -x.square() / (4 * y) + 0.5 * (-math.pi / y).log()


class Laplace(_LocationScale):
    """Two exponential distributions, back to back at `loc`."""

    @property
    def stddev(self):
        return math.sqrt(2) * self.scale

    @property
    def variance(self):
        return 2 * self.scale.square()

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.loc + self.scale * _signed_exponential(
            _core.rand(shape, dtype=self.loc.dtype) - 0.5)

    def log_prob(self, value):
        return -(2 * self.scale).log() - self._standardised(value).abs()

    def cdf(self, value):
        z = self._standardised(value)
        return 0.5 - 0.5 * z.sign() * (-z.abs()).expm1()

    def icdf(self, value):
        return self.loc + self.scale * _signed_exponential(value - 0.5)

    def entropy(self):
        return 1 + (2 * self.scale).log()


def _signed_exponential(share):
    """The standard Laplace value at a share of 0.5 + `share`; finite for shares that rand gives."""
    return -share.sign() * (-2 * share.abs()).clamp(min=2.0 ** -60 - 1).log1p()


class Cauchy(_LocationScale):
    """The Cauchy distribution, which has neither mean nor variance."""

    @property
    def mean(self):
        return self._full(math.nan, self.loc)

    @property
    def variance(self):
        return self._full(math.inf, self.loc)

    def rsample(self, sample_shape=()):
        # The middle of the range keeps away from the poles of tan().
        share = _core.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.icdf(share.clamp(min=weft.finfo(self.loc.dtype).eps / 4))

    def log_prob(self, value):
        return -math.log(math.pi) - self.scale.log() - self._standardised(value).square().log1p()

    def cdf(self, value):
        return self._standardised(value).atan() / math.pi + 0.5

    def icdf(self, value):
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """Values in [low, high), all alike."""

    arg_constraints = {"low": constraints.dependent(is_discrete=False, event_dim=0),
                       "high": constraints.dependent(is_discrete=False, event_dim=0)}
    has_rsample, _fields = True, ("low", "high")

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args and not (self.low < self.high).all():
            raise refuse("Uniform", "the parameter high to be above low at every place",
                         "high " + first_outside(self.high, self.low < self.high) +
                         " with low " + first_outside(self.low, self.low < self.high))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """From low to high."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self):
        return (self.high + self.low) / 2

    @property
    def mode(self):
        return math.nan * self.high

    @property
    def stddev(self):
        return (self.high - self.low) / math.sqrt(12)

    @property
    def variance(self):
        return (self.high - self.low).square() / 12

    def rsample(self, sample_shape=()):
        drawn = _core.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value):
        value = self._checked(value)
        inside = ((self.low <= value) & (self.high > value)).to(self.low.dtype)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value):
        return ((self._checked(value) - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return (self.high - self.low).log()
