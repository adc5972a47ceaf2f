"""weft.distributions: what policies and latent variables are drawn from."""
import math

import weft
from weft import _core
from weft._names._table import Tensor, refuse
from weft._names.shapes import broadcast_tensors

_EPS = 2.0 ** -23
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def _tensors(*values):
    """Numbers and tensors as tensors of one shape."""
    made = [each if isinstance(each, Tensor) else _core.tensor(float(each)) for each in values]
    return broadcast_tensors(*made)


class Distribution:
    """What all have: batch_shape, event_shape, sample(), log_prob()."""

    has_rsample = False

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = _core.Size(batch_shape), _core.Size(event_shape)
        self._validates = validate_args is not False

    @property
    def batch_shape(self):
        """The shape of the parameters: one distribution each."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one draw."""
        return self._event_shape

    def _require(self, argument, holds, what, values=None):
        """Raises unless the constraint holds for every value of a parameter."""
        if self._validates and not bool(holds.all()):
            values = getattr(self, argument, None) if values is None else values
            wrong = "other values" if values is None or values.shape != holds.shape else (
                values.reshape(-1)[(~holds).reshape(-1)][0].item())
            raise refuse(type(self).__name__, f"the parameter {argument} {what}", wrong)

    def _shape(self, sample_shape):
        return (*tuple(sample_shape), *self._batch_shape, *self._event_shape)

    def sample(self, sample_shape=()):
        """Draws without history."""
        with weft.no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n):
        """sample((n,))."""
        return self.sample((n,))

    def rsample(self, sample_shape=()):
        """Draws through which gradients pass to the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample(): use sample()")

    def log_prob(self, value):
        """The logarithm of the density or the probability of a draw."""
        raise NotImplementedError

    def entropy(self):
        """The expected -log_prob()."""
        raise NotImplementedError

    def perplexity(self):
        """exp(entropy())."""
        return self.entropy().exp()

    @property
    def stddev(self):
        """The root of the variance."""
        return self.variance.sqrt()

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(self._described())})"

    def _described(self):
        for name in self.arguments:
            value = getattr(self, name)
            yield f"{name}: {value if value.numel() == 1 else value.size()}"

    arguments = ()


class Normal(Distribution):
    """The normal distribution of mean `loc` and deviation `scale`."""

    has_rsample, arguments = True, ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = _tensors(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)
        self._require("scale", self.scale > 0, "above 0")

    @property
    def mean(self):
        """The mean."""
        return self.loc

    @property
    def mode(self):
        """The likeliest value."""
        return self.loc

    @property
    def stddev(self):
        """The deviation."""
        return self.scale

    @property
    def variance(self):
        """The square of the deviation."""
        return self.scale.square()

    def rsample(self, sample_shape=()):
        """loc + scale * standard normal values."""
        drawn = _core.randn(self._shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + drawn * self.scale

    def log_prob(self, value):
        """The logarithm of the density."""
        return (-((value - self.loc).square()) / (2 * self.variance) - self.scale.log()
                - _HALF_LOG_TWO_PI)

    def cdf(self, value):
        """The share below a value."""
        return 0.5 * (1 + ((value - self.loc) / (self.scale * math.sqrt(2))).erf())

    def icdf(self, value):
        """The value below which that share lies."""
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self):
        """1/2 + log(2 pi) / 2 + log(scale)."""
        return 0.5 + _HALF_LOG_TWO_PI + self.scale.log()


class Uniform(Distribution):
    """Values in [low, high), all alike."""

    has_rsample, arguments = True, ("low", "high")

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = _tensors(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        self._require("high", self.low < self.high, "above low")

    @property
    def mean(self):
        """The middle."""
        return (self.high + self.low) / 2

    @property
    def variance(self):
        """The square of the width, over 12."""
        return (self.high - self.low).square() / 12

    def rsample(self, sample_shape=()):
        """low + (high - low) * values in [0, 1)."""
        drawn = _core.rand(self._shape(sample_shape), dtype=self.low.dtype)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value):
        """-log(high - low) within, -infinity outside."""
        inside = ((self.low <= value) & (self.high > value)).to(self.low.dtype)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value):
        """The share below a value."""
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value):
        """The value below which that share lies."""
        return value * (self.high - self.low) + self.low

    def entropy(self):
        """log(high - low)."""
        return (self.high - self.low).log()


def _one_of(name, probs, logits):
    if (probs is None) == (logits is None):
        raise refuse(name, "either probs or logits", "both" if probs is not None else "none")


class Bernoulli(Distribution):
    """1 with probability `probs`, else 0."""

    arguments = ("probs",)

    def __init__(self, probs=None, logits=None, validate_args=None):
        _one_of("Bernoulli", probs, logits)
        given, = _tensors(logits if probs is None else probs)
        super().__init__(given.shape, validate_args=validate_args)
        if probs is None:
            self.logits, self.probs = given, given.sigmoid()
            return
        self._require("probs", (given >= 0) & (given <= 1), "in [0, 1]", given)
        self.probs, self.logits = given, given.clamp(_EPS, 1 - _EPS).logit()

    @property
    def mean(self):
        """probs."""
        return self.probs

    @property
    def variance(self):
        """probs * (1 - probs)."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        """Zeros and ones."""
        shape = self._shape(sample_shape)
        return _core.bernoulli(self.probs.detach().expand(shape))

    def log_prob(self, value):
        """The logarithm of the probability of 0 or 1."""
        logits, value = broadcast_tensors(self.logits, value)
        if self._validates and not bool(((value == 0) | (value == 1)).all()):
            raise refuse("Bernoulli.log_prob", "values that are 0 or 1",
                         value[(value != 0) & (value != 1)][0].item())
        return -_core.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        """The expected -log_prob()."""
        return _core.binary_cross_entropy_with_logits(self.logits, self.probs.detach() * 0 +
                                                      self.probs, reduction="none")


class Categorical(Distribution):
    """One of the classes along the last axis, by probabilities or by logits."""

    arguments = ("probs",)

    def __init__(self, probs=None, logits=None, validate_args=None):
        _one_of("Categorical", probs, logits)
        given = logits if probs is None else probs
        if not isinstance(given, Tensor) or given.ndim < 1:
            raise refuse("Categorical", "a tensor of at least one axis", given)
        super().__init__(given.shape[:-1], validate_args=validate_args)
        if probs is None:
            self.logits = given - given.logsumexp(-1, True)
            self.probs = self.logits.softmax(-1)
            self._require("logits", given == given, "without NaN")
            return
        self._require("probs", given >= 0, "of at least 0", given)
        self.probs = given / given.sum(-1, True)
        self.logits = self.probs.clamp(_EPS, 1 - _EPS).log()

    @property
    def mode(self):
        """The likeliest class."""
        return self.probs.argmax(-1)

    def sample(self, sample_shape=()):
        """int64: numbers of classes."""
        count = _core.Size(sample_shape).numel()
        rows = self.probs.detach().reshape(-1, self.probs.shape[-1])
        drawn = _core.multinomial(rows, count, True).t()
        return drawn.reshape(self._shape(sample_shape))

    def log_prob(self, value):
        """The logarithm of the probability of a class."""
        value = value.long().unsqueeze(-1)
        shape = weft.broadcast_shapes(value.shape, (*self._batch_shape, 1))
        at = value.expand(shape)
        logits = self.logits.expand((*shape[:-1], self.logits.shape[-1]))
        return logits.gather(-1, at).squeeze(-1)

    def entropy(self):
        """-sum(p log p)."""
        from weft._limits import finfo

        low = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(low * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        """All classes."""
        count = self.probs.shape[-1]
        found = _core.arange(count).reshape([count] + [1] * len(self._batch_shape))
        return found.expand(count, *self._batch_shape) if expand else found


class Exponential(Distribution):
    """The exponential distribution of that rate."""

    has_rsample, arguments = True, ("rate",)

    def __init__(self, rate, validate_args=None):
        self.rate, = _tensors(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)
        self._require("rate", self.rate > 0, "above 0")

    @property
    def mean(self):
        """1 / rate."""
        return 1 / self.rate

    @property
    def variance(self):
        """1 / rate^2."""
        return 1 / self.rate.square()

    def rsample(self, sample_shape=()):
        """-log(1 - u) / rate."""
        drawn = _core.rand(self._shape(sample_shape), dtype=self.rate.dtype)
        return -_core.log1p(-drawn) / self.rate

    def log_prob(self, value):
        """The logarithm of the density."""
        return self.rate.log() - self.rate * value

    def entropy(self):
        """1 - log(rate)."""
        return 1 - self.rate.log()


class Independent(Distribution):
    """Several distributions as one, whose last batch axes belong to a draw."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        self.base_dist, self._count = base_distribution, reinterpreted_batch_ndims
        batch = base_distribution.batch_shape
        if self._count > len(batch):
            raise refuse("Independent", f"at most {len(batch)} batch axes", self._count)
        at = len(batch) - self._count
        super().__init__(batch[:at], batch[at:] + base_distribution.event_shape)

    def sample(self, sample_shape=()):
        """Draws of all."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        """Draws of all through which gradients pass."""
        return self.base_dist.rsample(sample_shape)

    def _summed(self, x):
        return x.sum(tuple(range(-self._count, 0))) if self._count else x

    def log_prob(self, value):
        """The sum of the logarithms."""
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self):
        """The sum of the entropies."""
        return self._summed(self.base_dist.entropy())

    @property
    def mean(self):
        """The means of all."""
        return self.base_dist.mean

    @property
    def variance(self):
        """The variances of all."""
        return self.base_dist.variance


def _of_normals(p, q):
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


def _of_classes(p, q):
    terms = p.probs * (p.logits - q.logits)
    return weft.where(p.probs == 0, 0.0, terms).sum(-1)


def _of_truths(p, q):
    yes = weft.where(p.probs == 0, 0.0, p.probs * (p.probs / q.probs).log())
    no = weft.where(p.probs == 1, 0.0, (1 - p.probs) * ((1 - p.probs) / (1 - q.probs)).log())
    return yes + no


def _of_uniforms(p, q):
    outside = (q.low > p.low) | (q.high < p.high)
    return weft.where(outside, math.inf, ((q.high - q.low) / (p.high - p.low)).log())


def _of_exponentials(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


_DIVERGENCES = {Normal: _of_normals, Categorical: _of_classes, Bernoulli: _of_truths,
                Uniform: _of_uniforms, Exponential: _of_exponentials}


def kl_divergence(p, q):
    """The divergence of Kullback and Leibler of two distributions of one class."""
    if isinstance(p, Independent) and isinstance(q, Independent):
        return p._summed(kl_divergence(p.base_dist, q.base_dist))
    if type(p) is not type(q) or type(p) not in _DIVERGENCES:
        raise NotImplementedError(f"no divergence of {type(p).__name__} and {type(q).__name__}")
    return _DIVERGENCES[type(p)](p, q)
