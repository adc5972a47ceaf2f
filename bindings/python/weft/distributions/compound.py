"""Distributions made of others: Independent, TransformedDistribution, MixtureSameFamily."""
from typing import Any, Dict, Tuple

import weft
from weft._names._table import refuse
from weft.distributions import constraints
from weft.distributions.categories import Categorical
from weft.distributions.distribution import Distribution
from weft.distributions.transforms import ComposeTransform, Transform
from weft.distributions.utils import sum_rightmost


def _require_distribution(name, argument, value):
    if not isinstance(value, Distribution):
        raise refuse(name, f"the argument {argument} to be a Distribution", repr(value))


class Independent(Distribution):
    """A batch of distributions as one, whose last batch axes belong to a draw."""

    arg_constraints: Dict[str, Any] = {}

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        _require_distribution("Independent", "base_distribution", base_distribution)
        batch, count = base_distribution.batch_shape, reinterpreted_batch_ndims
        if not 0 <= count <= len(batch):
            raise refuse("Independent", f"reinterpreted_batch_ndims in [0, {len(batch)}], as the "
                         f"base has batch_shape {list(batch)}", count)
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        ahead = len(batch) - count
        super().__init__(batch[:ahead], batch[ahead:] + base_distribution.event_shape,
                         validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Independent, _instance)
        inner = self._event_shape[:self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand(weft.Size(batch_shape) + inner)
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def has_rsample(self):
        """Whether the base has."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self):
        """Whether the base has, where no axis belongs to a draw."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        """The base's, with more axes."""
        base, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(base, count) if count else base

    @property
    def mean(self):
        return self.base_dist.mean

    @property
    def mode(self):
        return self.base_dist.mode

    @property
    def variance(self):
        return self.base_dist.variance

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Independent.enumerate_support() would need all combinations "
                                      "of the values of the base: enumerate that one")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self):
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """What a transform, or a list of them one after the other, makes of another's draws."""

    arg_constraints: Dict[str, Any] = {}
    _fields: Tuple[str, ...] = ()

    def __init__(self, base_distribution, transforms, validate_args=None):
        _require_distribution("TransformedDistribution", "base_distribution", base_distribution)
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(
                isinstance(each, Transform) for each in self.transforms):
            raise refuse("TransformedDistribution", "the argument transforms to be a Transform or "
                         "a list of them", repr(transforms))
        shape, event_dim = self._take_base(base_distribution)
        ahead = len(shape) - event_dim
        super().__init__(shape[:ahead], shape[ahead:], validate_args=validate_args)

    def _take_base(self, base):
        """Keeps the base in the shape that the transforms need; gives the shape of draws, and how
        many axes of it a draw has."""
        whole = ComposeTransform(self.transforms)
        base_shape, base_axes = base.batch_shape + base.event_shape, len(base.event_shape)
        wanted = whole.domain.event_dim
        if len(base_shape) < wanted:
            raise refuse("TransformedDistribution", f"a base_distribution of at least {wanted} "
                         f"axes for {whole!r}", f"shape {list(base_shape)}")
        shape = weft.Size(whole.forward_shape(base_shape))
        needed = weft.Size(whole.inverse_shape(shape))
        if needed != base_shape:
            base = base.expand(needed[:len(needed) - base_axes])
        if wanted > base_axes:
            base = Independent(base, wanted - base_axes)
        self.base_dist = base
        return shape, whole.codomain.event_dim + max(base_axes - wanted, 0)

    def expand(self, batch_shape, _instance=None):
        new, shape = self._begin_expand(batch_shape, _instance)
        base_shape = shape + self._event_shape
        for each in reversed(self.transforms):
            base_shape = each.inverse_shape(base_shape)
        ahead = len(base_shape) - len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(base_shape[:ahead])
        new.transforms = self.transforms
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        """What the last transform gives."""
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self._event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    @property
    def has_rsample(self):
        """Whether the base has."""
        return self.base_dist.has_rsample

    def _forward(self, x):
        for each in self.transforms:
            x = each(x)
        return x

    def sample(self, sample_shape=()):
        with weft.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        y, axes, total = self._checked(value), len(self._event_shape), 0
        for each in reversed(self.transforms):
            x = each.inv(y)
            axes += each.domain.event_dim - each.codomain.event_dim
            total = total - sum_rightmost(each.log_abs_det_jacobian(x, y),
                                          axes - each.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y),
                                     axes - len(self.base_dist.event_shape))

    def _rising(self, share):
        """`share`, or 1 - share where the transforms fall."""
        sign = 1
        for each in self.transforms:
            sign = sign * each.sign
        return share if isinstance(sign, int) and sign == 1 else sign * (share - 0.5) + 0.5

    def cdf(self, value):
        for each in reversed(self.transforms):
            value = each.inv(value)
        return self._rising(self.base_dist.cdf(self.base_dist._checked(value)))

    def icdf(self, value):
        return self._forward(self.base_dist.icdf(self._rising(value)))


class MixtureSameFamily(Distribution):
    """Draws of one of several distributions, the last batch axis of `component_distribution`, which
    a Categorical distribution chooses."""

    arg_constraints: Dict[str, Any] = {}
    _fields = ("_component_distribution", "_mixture_distribution")

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        name = "MixtureSameFamily"
        if not isinstance(mixture_distribution, Categorical):
            raise refuse(name, "the argument mixture_distribution to be a Categorical",
                         repr(mixture_distribution))
        _require_distribution(name, "component_distribution", component_distribution)
        chosen, among = mixture_distribution.batch_shape, component_distribution.batch_shape
        count = mixture_distribution.param_shape[-1]
        if not among or among[-1] != count:
            raise refuse(name, f"a component_distribution whose batch_shape ends with the {count} "
                         f"classes of mixture_distribution", f"batch_shape {list(among)}")
        if any(a != b and 1 not in (a, b) for a, b in zip(reversed(chosen), reversed(among[:-1]))):
            raise refuse(name, f"a mixture_distribution whose batch_shape fits that of the "
                         f"components, {list(among[:-1])}", list(chosen))
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        super().__init__(among[:-1], component_distribution.event_shape, validate_args)

    def expand(self, batch_shape, _instance=None):
        new, shape = self._begin_expand((), _instance)
        new._component_distribution = self._component_distribution.expand(
            shape + weft.Size(batch_shape) + self._component_distribution.batch_shape[-1:])
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self):
        """That of the components."""
        return self._component_distribution.support

    @property
    def mixture_distribution(self):
        """What chooses."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """What is chosen from."""
        return self._component_distribution

    @property
    def _axis(self):
        """The axis of the components in their draws."""
        return -1 - len(self._event_shape)

    def _mixed(self, values):
        """The mean over the components, each by its probability."""
        probs = self._mixture_distribution.probs
        probs = probs.reshape(probs.shape + (1,) * len(self._event_shape))
        return (probs * values).sum(self._axis)

    @property
    def mean(self):
        return self._mixed(self._component_distribution.mean)

    @property
    def variance(self):
        parts = self._component_distribution
        return self._mixed(parts.variance) + self._mixed(
            (parts.mean - self.mean.unsqueeze(self._axis)).square())

    def cdf(self, x):
        """The probability of values up to this one."""
        return (self._component_distribution.cdf(x.unsqueeze(-1))
                * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x):
        """The logarithm of the density or of the probability at a value."""
        x = self._checked(x).unsqueeze(self._axis)
        of_parts = self._component_distribution.log_prob(x)
        return (of_parts + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape=()):
        with weft.no_grad():
            axis = len(sample_shape) + len(self._batch_shape)
            drawn = self._component_distribution.sample(sample_shape)
            chosen = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            chosen = chosen.reshape(chosen.shape + (1,) * (1 + len(self._event_shape)))
            shape = drawn.shape[:axis] + (1,) + drawn.shape[axis + 1:]
            return drawn.gather(axis, chosen.expand(shape)).squeeze(axis)

    def __repr__(self):
        return (f"MixtureSameFamily(\n  {self._mixture_distribution},\n  "
                f"{self._component_distribution})")
