"""Draws near 0 and 1, or near one-hot vectors, through which gradients pass; a lower temperature
brings them nearer."""
import math

import weft
from weft import _core
from weft._names._table import Tensor
from weft.distributions import constraints
from weft.distributions.categories import OfCategorical
from weft.distributions.compound import TransformedDistribution
from weft.distributions.counts import WithOdds
from weft.distributions.transforms import ExpTransform, SigmoidTransform
from weft.distributions.utils import broadcast_all, clamp_probs


def _temperature(given, beside):
    return given if isinstance(given, Tensor) else weft.tensor(given, dtype=beside.dtype)


class LogitRelaxedBernoulli(WithOdds):
    """The logits of RelaxedBernoulli's draws."""

    support, has_rsample = constraints.real, True
    _fields, _kept = WithOdds._fields, ("temperature",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        given, _ = self._take(probs, logits)
        self.temperature = _temperature(temperature, given)
        super().__init__(given.shape, validate_args=validate_args)

    def rsample(self, sample_shape=()):
        probs = clamp_probs(self.probs)
        drawn = clamp_probs(_core.rand(self._extended_shape(sample_shape), dtype=probs.dtype))
        return (drawn.logit() + probs.logit()) / self.temperature

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, self._checked(value))
        away = logits - value * self.temperature
        return self.temperature.log() + away - 2 * weft.nn.functional.softplus(away)


class ExpRelaxedCategorical(OfCategorical):
    """The logarithms of RelaxedOneHotCategorical's draws."""

    support, has_rsample, _kept = constraints.real_vector, True, ("temperature",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(probs, logits, validate_args)
        self.temperature = _temperature(temperature, self._param)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        drawn = clamp_probs(_core.rand(shape, dtype=self.logits.dtype))
        scores = (self.logits - (-drawn.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, True)

    def log_prob(self, value):
        count = self._event_shape[0]
        logits, value = broadcast_all(self.logits, self._checked(value))
        score = logits - value * self.temperature
        score = (score - score.logsumexp(-1, True)).sum(-1)
        return score + math.lgamma(count) + (count - 1) * self.temperature.log()


class _Relaxed(TransformedDistribution):
    """What passes its parameters on to the distribution that is transformed."""

    has_rsample = True

    @property
    def temperature(self):
        """How far draws are from 0 and 1."""
        return self.base_dist.temperature

    @property
    def probs(self):
        """Probabilities."""
        return self.base_dist.probs

    @property
    def logits(self):
        """Log-odds, or logarithms of the probabilities of classes."""
        return self.base_dist.logits


class RelaxedBernoulli(_Relaxed):
    """Values in (0, 1)."""

    arg_constraints, support = WithOdds.arg_constraints, constraints.unit_interval
    _fields = ()

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


class RelaxedOneHotCategorical(_Relaxed):
    """Probabilities of classes."""

    arg_constraints, support = OfCategorical.arg_constraints, constraints.simplex
    _fields = ()

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
