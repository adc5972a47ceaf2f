"""Distributions of classes: Categorical, OneHotCategorical, Multinomial."""
import math

import weft
from weft import _core
from weft._limits import finfo
from weft._names._table import Tensor, refuse
from weft.distributions import _draws, constraints
from weft.distributions.counts import Binomial, one_of
from weft.distributions.distribution import Distribution
from weft.distributions.utils import (
    broadcast_all, lazy_property, logits_to_probs, probs_to_logits)

_CONSTRAINTS = {"probs": constraints.simplex, "logits": constraints.real_vector}


class Categorical(Distribution):
    """One of the classes along the last axis, by probabilities or by logits."""

    arg_constraints, has_enumerate_support = _CONSTRAINTS, True
    _fields, _kept = ("probs", "logits", "_param"), ("_num_events",)

    def __init__(self, probs=None, logits=None, validate_args=None):
        one_of("Categorical", probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        if not isinstance(given, Tensor) or given.ndim < 1:
            raise refuse("Categorical", f"the parameter {name} to be a tensor of at least one "
                         f"axis, that of the classes", given)
        if probs is None:
            self.logits = self._param = given - given.logsumexp(-1, True)
        else:
            self.probs = self._param = given / given.sum(-1, True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """Numbers of classes."""
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self):
        """Logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self):
        """Probabilities, whose sum is 1."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self):
        """The shape of the parameter that was given."""
        return self._param.shape

    @property
    def mean(self):
        return self._full(math.nan, self.probs)

    @property
    def mode(self):
        return self.probs.argmax(-1)

    @property
    def variance(self):
        return self._full(math.nan, self.probs)

    def sample(self, sample_shape=()):
        """Numbers of classes, int64."""
        rows = self.probs.detach().reshape(-1, self._num_events)
        drawn = _core.multinomial(rows, weft.Size(sample_shape).numel(), True).t()
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        value = self._checked(value).long().unsqueeze(-1)
        shape = weft.broadcast_shapes(value.shape[:-1], self._batch_shape)
        logits = self.logits.expand(shape + self.logits.shape[-1:])
        return logits.gather(-1, value.expand(shape + (1,))).squeeze(-1)

    def entropy(self):
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        count = self._num_events
        numbers = _core.arange(count).reshape((count,) + (1,) * len(self._batch_shape))
        return numbers.expand((count,) + tuple(self._batch_shape)) if expand else numbers


class OfCategorical(Distribution):
    """What has the parameters of a Categorical distribution, and vectors as draws."""

    arg_constraints, _fields = _CONSTRAINTS, ("_categorical",)

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits, validate_args=validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:],
                         validate_args=False)
        self._validate_args = self._categorical._validate_args

    @property
    def _param(self):
        return self._categorical._param

    @property
    def probs(self):
        """Probabilities, whose sum is 1."""
        return self._categorical.probs

    @property
    def logits(self):
        """Logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self):
        """The shape of the parameter that was given."""
        return self._categorical.param_shape


class OneHotCategorical(OfCategorical):
    """Classes as vectors with a single 1."""

    support, has_enumerate_support = constraints.one_hot, True

    def _one_hot(self, numbers):
        return weft.nn.functional.one_hot(numbers, self._event_shape[0]).to(self.probs)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return self._one_hot(self.probs.argmax(-1))

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        with weft.no_grad():
            return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        return self._categorical.log_prob(self._checked(value).argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        count, batch = self._event_shape[0], tuple(self._batch_shape)
        rows = weft.eye(count, dtype=self._param.dtype)
        rows = rows.reshape((count,) + (1,) * len(batch) + (count,))
        return rows.expand((count,) + batch + (count,)) if expand else rows


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One whose draws pass gradients to the probabilities as if they were these."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(OfCategorical):
    """How often each class comes in `total_count` draws of Categorical."""

    _kept = ("total_count",)

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("Multinomial needs one int total_count for the whole batch, "
                                      f"got {total_count!r}")
        if total_count < 0:
            raise refuse("Multinomial", "the parameter total_count to be at least 0", total_count)
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        """Counts whose sum is at most total_count."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with weft.no_grad():
            return _draws.multinomial_counts(self.total_count, self.probs.expand(shape))

    def entropy(self):
        """By the counts of one class at a time: those that are 0 add nothing."""
        of_one = Binomial(self.total_count, probs=self.probs, validate_args=False)
        counts = of_one.enumerate_support(expand=False)[1:]
        chances = of_one.log_prob(counts).exp()
        return (self.total_count * self._categorical.entropy()
                - math.lgamma(self.total_count + 1)
                + (chances * (counts + 1).lgamma()).sum((0, -1)))

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, self._checked(value))
        never = (value == 0) & (logits == -math.inf)
        return ((value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
                + (weft.where(never, 0.0, logits) * value).sum(-1))
