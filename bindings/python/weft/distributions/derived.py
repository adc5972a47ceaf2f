"""What transforms make of Normal, Cauchy, Uniform and Exponential draws."""
import math
from typing import Any

import weft
from weft._limits import finfo
from weft.distributions import constraints
from weft.distributions.compound import TransformedDistribution
from weft.distributions.gammas import Exponential
from weft.distributions.location_scale import Cauchy, Normal, Uniform
from weft.distributions.transforms import (
    AbsTransform, AffineTransform, ExpTransform, PowerTransform, StickBreakingTransform)
from weft.distributions.utils import broadcast_all, euler_constant

_LOC_SCALE = {"loc": constraints.real, "scale": constraints.positive}


class LogNormal(TransformedDistribution):
    """exp() of normal draws."""

    arg_constraints, support = _LOC_SCALE, constraints.positive
    has_rsample, _fields = True, ()

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=False)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def loc(self):
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self):
        """The deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self):
        return (self.loc + self.scale.square() / 2).exp()

    @property
    def mode(self):
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self):
        square = self.scale.square()
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Probabilities that StickBreakingTransform makes of normal draws."""

    arg_constraints, support = _LOC_SCALE, constraints.simplex
    has_rsample, _fields = True, ()

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=False)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self):
        """The means of the normal draws."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self):
        """The deviations of the normal draws."""
        return self.base_dist.base_dist.scale


class _Half(TransformedDistribution):
    """|x| of draws of a distribution that is even."""

    arg_constraints, support = {"scale": constraints.positive}, constraints.nonnegative
    has_rsample, _fields = True, ()
    _whole: Any = None

    def __init__(self, scale, validate_args=None):
        base = self._whole(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self):
        """The scale of the whole."""
        return self.base_dist.scale

    @property
    def mode(self):
        return weft.zeros_like(self.scale)

    def log_prob(self, value):
        value = self._checked(weft.as_tensor(value, dtype=self.scale.dtype))
        return weft.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """|x| of normal draws of mean 0."""

    _whole = Normal

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale.square() * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """|x| of Cauchy draws around 0."""

    _whole = Cauchy

    @property
    def mean(self):
        return self._full(math.inf, self.scale)

    @property
    def variance(self):
        return self.base_dist.variance


class Gumbel(TransformedDistribution):
    """The largest of many draws: loc - scale * log(-log(u))."""

    arg_constraints, support = _LOC_SCALE, constraints.real
    _fields = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        base = Uniform(weft.full_like(self.loc, limits.tiny),
                       weft.full_like(self.loc, 1 - limits.eps), validate_args=False)
        falling = AffineTransform(0, -weft.ones_like(self.scale))
        super().__init__(base, [ExpTransform().inv, falling, ExpTransform().inv,
                                AffineTransform(self.loc, -self.scale)],
                         validate_args=validate_args)

    @property
    def mean(self):
        return self.loc + self.scale * euler_constant

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self):
        return self.stddev.square()

    def log_prob(self, value):
        z = (self.loc - self._checked(value)) / self.scale
        return z - z.exp() - self.scale.log()

    def cdf(self, value):
        return (-((self.loc - self._checked(value)) / self.scale).exp()).exp()

    def icdf(self, value):
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)


class Weibull(TransformedDistribution):
    """scale * an exponential draw to the power 1 / concentration."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support, _fields = constraints.positive, ("scale", "concentration", "concentration_reciprocal")

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(weft.ones_like(self.scale), validate_args=False)
        super().__init__(base, [PowerTransform(self.concentration_reciprocal),
                                AffineTransform(0, self.scale)], validate_args=validate_args)

    def _moment(self, order):
        """The mean of (draw / scale)^order."""
        return (1 + order * self.concentration_reciprocal).lgamma().exp()

    @property
    def mean(self):
        return self.scale * self._moment(1)

    @property
    def mode(self):
        """0 for a concentration of at most 1."""
        return self.scale * (1 - self.concentration_reciprocal).clamp(min=0).pow(
            self.concentration_reciprocal)

    @property
    def variance(self):
        return self.scale.square() * (self._moment(2) - self._moment(1).square())

    def entropy(self):
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1


class Pareto(TransformedDistribution):
    """scale * exp() of an exponential draw of rate alpha."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _fields = ("scale", "alpha")

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=False)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)],
                         validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """From scale on."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self):
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self):
        return self.scale

    @property
    def variance(self):
        alpha = self.alpha.clamp(min=2)
        return self.scale.square() * alpha / ((alpha - 1).square() * (alpha - 2))

    def entropy(self):
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()


class Kumaraswamy(TransformedDistribution):
    """(1 - (1 - u)^(1 / concentration0))^(1 / concentration1): like Beta, in closed form."""

    arg_constraints = {"concentration1": constraints.positive,
                       "concentration0": constraints.positive}
    support, has_rsample = constraints.unit_interval, True
    _fields = ("concentration1", "concentration0")

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(weft.zeros_like(self.concentration0), weft.ones_like(self.concentration0),
                       validate_args=False)
        super().__init__(base, [PowerTransform(self.concentration0.reciprocal()),
                                AffineTransform(1.0, -1.0),
                                PowerTransform(self.concentration1.reciprocal())],
                         validate_args=validate_args)

    def _moment(self, order):
        a, b = self.concentration1, self.concentration0
        at = 1 + order / a
        return b * (at.lgamma() + b.lgamma() - (at + b).lgamma()).exp()

    @property
    def mean(self):
        return self._moment(1)

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1)
        a, b = weft.where(inside, a, 2.0), weft.where(inside, b, 2.0)
        found = ((a - 1) / (a * b - 1)).pow(1 / a)
        return weft.where(inside, found, math.nan)

    @property
    def variance(self):
        return self._moment(2) - self._moment(1).square()

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return 1 - 1 / b + (1 - 1 / a) * harmonic - a.log() - b.log()
