"""What is made of exponential and gamma draws: Exponential, Gamma, Chi2, Beta, Dirichlet,
FisherSnedecor and StudentT."""
import math

import weft
from weft import _core
from weft._limits import finfo
from weft._names._table import Tensor, refuse
from weft.distributions import _draws, constraints
from weft.distributions.distribution import Distribution, ExponentialFamily
from weft.distributions.utils import broadcast_all


class Exponential(ExponentialFamily):
    """The exponential distribution of that rate."""

    arg_constraints, support = {"rate": constraints.positive}, constraints.nonnegative
    has_rsample, _fields, _mean_carrier_measure = True, ("rate",), 0

    def __init__(self, rate, validate_args=None):
        self.rate, = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.rate.reciprocal()

    @property
    def mode(self):
        return weft.zeros_like(self.rate)

    @property
    def stddev(self):
        return self.rate.reciprocal()

    @property
    def variance(self):
        return self.rate.pow(-2)

    def rsample(self, sample_shape=()):
        drawn = _core.rand(self._extended_shape(sample_shape), dtype=self.rate.dtype)
        return -(-drawn).log1p() / self.rate

    def log_prob(self, value):
        return self.rate.log() - self.rate * self._checked(value)

    def cdf(self, value):
        return -(-self.rate * self._checked(value)).expm1()

    def icdf(self, value):
        return -(-value).log1p() / self.rate

    def entropy(self):
        return 1 - self.rate.log()

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -(-x).log()


class Gamma(ExponentialFamily):
    """The gamma distribution of shape `concentration` and that rate."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample, _fields, _mean_carrier_measure = True, ("concentration", "rate"), 0

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate.square()

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        drawn = _draws.standard_gamma(self.concentration.expand(shape)) / self.rate
        return drawn.clamp(min=finfo(drawn.dtype).tiny)

    def log_prob(self, value):
        value = self._checked(weft.as_tensor(value, dtype=self.rate.dtype))
        return (weft.xlogy(self.concentration, self.rate)
                + weft.xlogy(self.concentration - 1, value)
                - self.rate * value - self.concentration.lgamma())

    def cdf(self, value):
        """The probability of values up to this one; no gradient for the shape."""
        return weft.igamma(self.concentration, self.rate * self._checked(value))

    def entropy(self):
        shape = self.concentration
        return shape - self.rate.log() + shape.lgamma() + (1 - shape) * shape.digamma()

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return (x + 1).lgamma() - (x + 1) * (-y).log()


class Chi2(Gamma):
    """The sum of `df` squares of standard normal draws."""

    arg_constraints, _fields = {"df": constraints.positive}, ("concentration", "rate")

    def __init__(self, df, validate_args=None):
        half, = broadcast_all(df)
        super().__init__(half * 0.5, 0.5, validate_args=validate_args)

    @property
    def df(self):
        """Degrees of freedom."""
        return self.concentration * 2


class Dirichlet(ExponentialFamily):
    """Probabilities along the last axis; a higher `concentration` has more of them."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support, has_rsample, _fields = constraints.simplex, True, ("concentration",)

    def __init__(self, concentration, validate_args=None):
        if not isinstance(concentration, Tensor) or concentration.ndim < 1:
            raise refuse("Dirichlet", "the parameter concentration to be a tensor of at least one "
                         "axis", concentration)
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        """Where all shapes are below 1, the corner of the first axis: draws gather at corners."""
        above = (self.concentration - 1).clamp(min=0)
        inner = above / above.sum(-1, True)
        corner = weft.zeros_like(inner)
        corner[..., 0] = 1
        return weft.where((self.concentration < 1).all(-1).unsqueeze(-1), corner, inner)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.square() * (total + 1))

    def rsample(self, sample_shape=()):
        return _draws.dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        value = self._checked(value)
        return (weft.xlogy(self.concentration - 1, value).sum(-1)
                - self._log_normalizer(self.concentration))

    def entropy(self):
        shapes, total = self.concentration, self.concentration.sum(-1)
        return (self._log_normalizer(shapes) + (total - shapes.shape[-1]) * total.digamma()
                - ((shapes - 1) * shapes.digamma()).sum(-1))

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


class Beta(ExponentialFamily):
    """Values in [0, 1]: the first of two that a Dirichlet distribution gives."""

    arg_constraints = {"concentration1": constraints.positive,
                       "concentration0": constraints.positive}
    support, has_rsample, _fields = constraints.unit_interval, True, ("_dirichlet",)

    def __init__(self, concentration1, concentration0, validate_args=None):
        both = weft.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=False)
        super().__init__(both.shape[:-1], validate_args=validate_args)

    @property
    def concentration1(self):
        """The shape at 1."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self):
        """The shape at 0."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self):
        return self._dirichlet.mean[..., 0]

    @property
    def mode(self):
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self):
        return self._dirichlet.variance[..., 0]

    def rsample(self, sample_shape=()):
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value):
        value = self._checked(value)
        a, b = self.concentration1, self.concentration0
        return weft.xlogy(a - 1, value) + weft.xlogy(b - 1, 1 - value) - self._log_normalizer(a, b)

    def entropy(self):
        return self._dirichlet.entropy()

    @property
    def _natural_params(self):
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x, y):
        return x.lgamma() + y.lgamma() - (x + y).lgamma()


class FisherSnedecor(Distribution):
    """The ratio of two Chi2 draws, each over its degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support, has_rsample = constraints.positive, True
    _fields = ("df1", "df2", "_above", "_below")

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._above = Gamma(self.df1 / 2, self.df1 / 2, validate_args=False)
        self._below = Gamma(self.df2 / 2, self.df2 / 2, validate_args=False)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self):
        df2 = weft.where(self.df2 <= 2, math.nan, self.df2)
        return df2 / (df2 - 2)

    @property
    def mode(self):
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return weft.where(self.df1 <= 2, math.nan, mode)

    @property
    def variance(self):
        df2 = weft.where(self.df2 <= 4, math.nan, self.df2)
        return (2 * df2.square() * (self.df1 + df2 - 2)
                / (self.df1 * (df2 - 2).square() * (df2 - 4)))

    def rsample(self, sample_shape=()):
        above, below = self._above.rsample(sample_shape), self._below.rsample(sample_shape)
        return (above / below).clamp(min=finfo(above.dtype).tiny)

    def log_prob(self, value):
        value = self._checked(value)
        half1, half2, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        return ((half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
                + half1 * ratio.log() + (half1 - 1) * value.log()
                - (half1 + half2) * (ratio * value).log1p())


class StudentT(Distribution):
    """loc + scale * a normal draw over the root of a Chi2 draw by its degrees of freedom."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real,
                       "scale": constraints.positive}
    support, has_rsample, _fields = constraints.real, True, ("df", "loc", "scale", "_chi2")

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df, validate_args=False)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self):
        return weft.where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        finite = weft.where(self.df > 2, self.df, 3.0)
        spread = self.scale.square() * finite / (finite - 2)
        return weft.where(self.df > 2, spread, weft.where(self.df > 1, math.inf, math.nan))

    def rsample(self, sample_shape=()):
        normal = _core.randn(self._extended_shape(sample_shape), dtype=self.df.dtype)
        return self.loc + self.scale * normal * (self._chi2.rsample(sample_shape) / self.df).rsqrt()

    def _log_normalizer(self):
        """The logarithm of the integral of (1 + y^2 / df)^(-(df + 1) / 2)."""
        return (0.5 * self.df.log() + 0.5 * math.log(math.pi) + (0.5 * self.df).lgamma()
                - (0.5 * (self.df + 1)).lgamma())

    def log_prob(self, value):
        y = (self._checked(value) - self.loc) / self.scale
        return (-0.5 * (self.df + 1) * (y.square() / self.df).log1p() - self.scale.log()
                - self._log_normalizer())

    def entropy(self):
        half = 0.5 * (self.df + 1)
        return (self.scale.log() + self._log_normalizer()
                + half * (half.digamma() - (0.5 * self.df).digamma()))
