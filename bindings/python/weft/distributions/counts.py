"""Distributions of truth values and of counts: Bernoulli, ContinuousBernoulli, Geometric, Binomial,
NegativeBinomial and Poisson."""
import math
from typing import Tuple

import weft
from weft import _core
from weft._names._table import refuse
from weft.distributions import _draws, constraints
from weft.distributions.distribution import Distribution, ExponentialFamily, first_outside
from weft.distributions.utils import (
    broadcast_all, clamp_probs, lazy_property, logits_to_probs, probs_to_logits)
from weft.nn.functional import binary_cross_entropy_with_logits, logsigmoid


def one_of(name, probs, logits):
    """Raises unless exactly one of the two was given."""
    if (probs is None) == (logits is None):
        raise refuse(name, "either probs or logits", "none of them" if probs is None else "both")


class WithOdds(Distribution):
    """What takes the probability of a truth value, `probs`, or its log-odds, `logits`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    _fields: Tuple[str, ...] = ("probs", "logits", "_param")

    def _take(self, probs, logits, *others):
        """Keeps the one that was given; gives it and `others` in one shape."""
        one_of(type(self).__name__, probs, logits)
        given, *rest = broadcast_all(logits if probs is None else probs, *others)
        setattr(self, "logits" if probs is None else "probs", given)
        self._param = given
        return given, [each.type_as(given) for each in rest]

    @lazy_property
    def logits(self):
        """log(probs / (1 - probs))."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        """The probability."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self):
        """The shape of the parameter that was given."""
        return self._param.shape

    def _values(self, count, expand):
        """0, 1, ... count - 1 along a new first axis."""
        numbers = _core.arange(count, dtype=self._param.dtype)
        numbers = numbers.reshape((count,) + (1,) * len(self._batch_shape))
        return numbers.expand((count,) + tuple(self._batch_shape)) if expand else numbers


class Bernoulli(WithOdds, ExponentialFamily):
    """1 with probability `probs`, else 0."""

    support, has_enumerate_support, _mean_carrier_measure = constraints.boolean, True, 0
    _fields = WithOdds._fields

    def __init__(self, probs=None, logits=None, validate_args=None):
        given, _ = self._take(probs, logits)
        super().__init__(given.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        likely = (self.probs > 0.5).to(self.probs)
        return weft.where(self.probs == 0.5, math.nan, likely)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return _core.bernoulli(self.probs.detach().expand(shape))

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, self._checked(value))
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return self._values(2, expand)

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        return weft.nn.functional.softplus(x)


class ContinuousBernoulli(WithOdds, ExponentialFamily):
    """Values in [0, 1] whose density is proportional to probs^x (1 - probs)^(1 - x).

    Near probs = 1/2, in `lims`, where closed forms are 0 / 0, series stand for them.
    """

    support, has_rsample = constraints.unit_interval, True
    _fields, _kept, _mean_carrier_measure = WithOdds._fields, ("_lims",), 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        given, _ = self._take(probs, logits)
        self._lims = lims
        super().__init__(given.shape, validate_args=validate_args)
        if probs is not None:
            self.probs = self._param = clamp_probs(given)

    @lazy_property
    def probs(self):
        """The probability, moved off 0 and 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _either(self, closed, series):
        """closed(probs) away from 1/2, series(probs - 1/2) near it."""
        away = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        far = weft.where(away, self.probs, self._lims[0])
        return weft.where(away, closed(far), series(self.probs - 0.5))

    def _cont_bern_log_norm(self):
        """The logarithm of the number that makes the integral of the density 1."""
        return self._either(
            lambda p: (((-p).log1p() - p.log()) / (1 - 2 * p)).log(),
            lambda d: math.log(2) + (4 / 3 + 104 / 45 * d.square()) * d.square())

    @property
    def mean(self):
        return self._either(
            lambda p: p / (2 * p - 1) + 1 / ((-p).log1p() - p.log()),
            lambda d: 0.5 + (1 / 3 + 16 / 45 * d.square()) * d)

    @property
    def variance(self):
        return self._either(
            lambda p: ((-p).log1p() - p.log()).pow(-2) - p * (1 - p) / (1 - 2 * p).square(),
            lambda d: 1 / 12 - (1 / 15 - 128 / 945 * d.square()) * d.square())

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(_core.rand(shape, dtype=self.probs.dtype))

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, self._checked(value))
        return (-binary_cross_entropy_with_logits(logits, value, reduction="none")
                + self._cont_bern_log_norm())

    def cdf(self, value):
        inside = self._checked(value).clamp(0, 1)
        return self._either(
            lambda p: (p.pow(inside) * (1 - p).pow(1 - inside) + p - 1) / (2 * p - 1),
            lambda d: inside + 0 * d).clamp(0, 1)

    def icdf(self, value):
        return self._either(
            lambda p: ((value * (2 * p - 1) - p).log1p() - (-p).log1p()) / (
                p.log() - (-p).log1p()),
            lambda d: value + 0 * d)

    def entropy(self):
        log_yes, log_no = self.probs.log(), (-self.probs).log1p()
        return self.mean * (log_no - log_yes) - self._cont_bern_log_norm() - log_no

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        """log((e^x - 1) / x)."""
        near = x.abs() < 1e-2
        far = weft.where(near, 1.0, x)
        return weft.where(near, x / 2 + x.square() / 24 - x.pow(4) / 2880,
                          (far.expm1() / far).log())


class Geometric(WithOdds):
    """How many draws of Bernoulli are 0 before the first 1."""

    support, _fields = constraints.nonnegative_integer, WithOdds._fields

    def __init__(self, probs=None, logits=None, validate_args=None):
        given, _ = self._take(probs, logits)
        super().__init__(given.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not (given > 0).all():
            raise refuse("Geometric", "the parameter probs to be positive",
                         first_outside(given, given > 0))

    @property
    def mean(self):
        return 1 / self.probs - 1

    @property
    def mode(self):
        return weft.zeros_like(self.probs)

    @property
    def variance(self):
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with weft.no_grad():
            drawn = _draws.uniform_above_zero(shape, self.probs.dtype)
            return (drawn.log() / (-self.probs).log1p()).floor().abs()

    def log_prob(self, value):
        value, probs = broadcast_all(self._checked(value), self.probs)
        no = weft.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-no).log1p() + self.probs.log()

    def entropy(self):
        return binary_cross_entropy_with_logits(
            self.logits, self.probs, reduction="none") / self.probs


class Binomial(WithOdds):
    """How many of `total_count` draws of Bernoulli are 1."""

    arg_constraints = {"total_count": constraints.nonnegative_integer,
                       **WithOdds.arg_constraints}
    has_enumerate_support, _fields = True, (*WithOdds._fields, "total_count")

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        given, (self.total_count,) = self._take(probs, logits, total_count)
        super().__init__(given.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """Whole numbers up to total_count."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return weft.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with weft.no_grad():
            return _draws.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        value, count = self._checked(value), self.total_count
        ways = (count + 1).lgamma() - (value + 1).lgamma() - (count - value + 1).lgamma()
        return ways + value * self.logits - count * weft.nn.functional.softplus(self.logits)

    def _one_count(self, name):
        count = int(self.total_count.max())
        if not (self.total_count == count).all():
            raise NotImplementedError(f"Binomial.{name}() needs one total_count for the whole "
                                      f"batch, got {self.total_count.tolist()}")
        return count

    def entropy(self):
        self._one_count("entropy")
        logs = self.log_prob(self.enumerate_support(False))
        return -(logs.exp() * logs).sum(0)

    def enumerate_support(self, expand=True):
        return self._values(1 + self._one_count("enumerate_support"), expand)


class NegativeBinomial(WithOdds):
    """How many draws of Bernoulli are 1 before `total_count` of them were 0."""

    arg_constraints = {"total_count": constraints.greater_than_eq(0),
                       "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support, _fields = constraints.nonnegative_integer, (*WithOdds._fields, "total_count")

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        given, (self.total_count,) = self._take(probs, logits, total_count)
        super().__init__(given.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.total_count * self.logits.exp()

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self):
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with weft.no_grad():
            count = self.total_count.expand(shape)
            logs = _draws.log_gammas(weft.where(count == 0, 1.0, count)) + self.logits
            return weft.poisson(weft.where(count == 0, 0.0, logs.exp())).to(self._param.dtype)

    def log_prob(self, value):
        value, count = self._checked(value), self.total_count
        none = count + value == 0
        ways = (weft.where(none, 1.0, count + value).lgamma() - (1 + value).lgamma()
                - weft.where(none, 1.0, count).lgamma())
        return count * logsigmoid(-self.logits) + value * logsigmoid(self.logits) + ways


class Poisson(ExponentialFamily):
    """Counts of what happens at that rate."""

    arg_constraints, _fields = {"rate": constraints.nonnegative}, ("rate",)
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        self.rate, = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.rate

    @property
    def mode(self):
        return self.rate.floor()

    @property
    def variance(self):
        return self.rate

    def sample(self, sample_shape=()):
        return weft.poisson(self.rate.detach().expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        rate, value = broadcast_all(self.rate, self._checked(value))
        return weft.xlogy(value, rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self):
        return (self.rate.log(),)

    def _log_normalizer(self, x):
        return x.exp()
