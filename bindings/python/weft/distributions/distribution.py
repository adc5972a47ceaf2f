"""Distribution, which all others are made of, and ExponentialFamily."""
import warnings
from typing import Tuple

import weft
from weft._names._table import Tensor, refuse
from weft.distributions import constraints
from weft.distributions.utils import lazy_property

_SKIPS = "validate_args=False leaves this check out"


def first_outside(value, holds):
    """The first event of `value` of which `holds` is false, as text."""
    at = (~holds).reshape(-1).nonzero()[0].item()
    events = value.detach().reshape((holds.numel(),) + value.shape[holds.ndim:])
    return str(events[at].tolist())


class Distribution:
    """A distribution, or a batch of them.

    batch_shape is the shape of the parameters, event_shape that of one draw; sample(shape) gives
    shape + batch_shape + event_shape. Classes of one's own define arg_constraints (the constraint
    of each parameter), support, and what they have of sample(), rsample(), log_prob() and so on.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    # Attributes that expand() repeats: tensors and distributions whose shape begins with
    # batch_shape, where an object has them; and those that it hands on as they are.
    _fields: Tuple[str, ...] = ()
    _kept: Tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value):
        """Whether parameters and values are checked where validate_args is None."""
        if value not in (True, False):
            raise refuse("set_default_validate_args", "True or False", repr(value))
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = weft.Size(batch_shape), weft.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self):
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            warnings.warn(f"{type(self).__name__} defines no arg_constraints: its parameters are "
                          f"not checked; arg_constraints = {{}} says that this is meant",
                          stacklevel=4)
            return
        for name, constraint in wanted.items():
            computed = isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or computed and name not in self.__dict__:
                continue
            value = getattr(self, name)
            holds = constraint.check(value)
            if not holds.all():
                raise refuse(type(self).__name__, f"the parameter {name} of shape "
                             f"{list(value.shape)} to satisfy {constraint!r} ({_SKIPS})",
                             first_outside(value, holds))

    def expand(self, batch_shape, _instance=None):
        """The distribution, repeated to another batch_shape."""
        new, shape = self._begin_expand(batch_shape, _instance)
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _begin_expand(self, batch_shape, instance):
        """A new object with this one's fields, and batch_shape as a Size."""
        cls = type(self)
        if instance is None:
            owner = next(each for each in cls.__mro__ if "__init__" in vars(each))
            if not any({"_fields", "_kept"} & set(vars(each)) for each in cls.__mro__[
                    :cls.__mro__.index(owner) + 1]):
                raise NotImplementedError(f"{cls.__name__} has an __init__() of its own: it needs "
                                          "an expand() of its own too")
        new = cls.__new__(cls) if instance is None else instance
        shape, ahead = weft.Size(batch_shape), len(self._batch_shape)
        for name in self._fields:
            value = self.__dict__.get(name)
            if isinstance(value, Distribution):
                new.__dict__[name] = value.expand(shape + value.batch_shape[ahead:])
            elif value is not None:
                new.__dict__[name] = value.expand(shape + value.shape[ahead:])
        new.__dict__.update((name, self.__dict__[name]) for name in self._kept)
        return new, shape

    def _get_checked_instance(self, cls, _instance=None):
        """For expand() of classes of one's own: an object that no __init__() has seen."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(f"{type(self).__name__} has an __init__() of its own: it "
                                      "needs an expand() of its own too")
        return type(self).__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self):
        """The shape of the parameters: one distribution each."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one draw."""
        return self._event_shape

    def _lacks(self, name):
        return NotImplementedError(f"{type(self).__name__} has no {name}")

    @property
    def arg_constraints(self):
        """The constraint of each parameter, by name."""
        raise self._lacks("arg_constraints")

    @property
    def support(self):
        """The constraint of draws."""
        raise self._lacks("support")

    @property
    def mean(self):
        """The mean."""
        raise self._lacks("mean")

    @property
    def mode(self):
        """The likeliest value."""
        raise self._lacks("mode")

    @property
    def variance(self):
        """The variance."""
        raise self._lacks("variance")

    @property
    def stddev(self):
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """Draws without history."""
        with weft.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Draws through which gradients pass to the parameters."""
        raise self._lacks("rsample(): use sample()")

    def sample_n(self, n):
        """sample((n,))."""
        warnings.warn("sample_n(n) is an old name of sample((n,))", UserWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value):
        """The logarithm of the density or of the probability at a value."""
        raise self._lacks("log_prob()")

    def cdf(self, value):
        """The probability of values up to this one."""
        raise self._lacks("cdf()")

    def icdf(self, value):
        """The value whose cdf() is `value`."""
        raise self._lacks("icdf()")

    def enumerate_support(self, expand=True):
        """All values along a new first axis, repeated over the batch if `expand`."""
        raise self._lacks("enumerate_support()")

    def entropy(self):
        """The expected -log_prob()."""
        raise self._lacks("entropy()")

    def perplexity(self):
        """exp(entropy())."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape=()):
        return weft.Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value):
        """Raises unless `value` could be draws of this distribution."""
        name = type(self).__name__
        if not isinstance(value, Tensor):
            raise refuse(name, "the argument value to be a tensor (weft.tensor makes one)",
                         f"{type(value).__name__} {value!r}")
        events = len(self._event_shape)
        if value.shape[max(value.ndim - events, 0):] != self._event_shape:
            raise refuse(name, f"the argument value to end with event_shape "
                         f"{list(self._event_shape)}", f"shape {list(value.shape)}")
        wanted = self._batch_shape + self._event_shape
        if any(a != b and a != 1 and b != 1
               for a, b in zip(reversed(value.shape), reversed(wanted))):
            raise refuse(name, f"the argument value to broadcast with batch_shape + event_shape "
                         f"{list(wanted)}", f"shape {list(value.shape)}")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{name} defines no support: values are not checked", stacklevel=4)
            return
        holds = support.check(value)
        if not holds.all():
            raise refuse(name, f"the argument value to lie in the support, {support!r} ({_SKIPS})",
                         first_outside(value, holds))

    def _checked(self, value):
        """`value`, after _validate_sample() where arguments are checked."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def _full(self, number, beside):
        """`number` for each element of a draw, in the type of `beside`."""
        return weft.full(self._extended_shape(), number, dtype=beside.dtype)

    def __repr__(self):
        shown = ((name, self.__dict__[name]) for name in self.arg_constraints
                 if name in self.__dict__)
        return f"{type(self).__name__}({', '.join(_described(*each) for each in shown)})"


def _described(name, value):
    return f"{name}: {value if value.numel() == 1 else value.shape}"


class ExponentialFamily(Distribution):
    """Densities of the form exp(sum(natural parameter * statistic) - log normaliser).

    Its entropy and its divergences follow from the slopes of _log_normalizer(*natural parameters).
    """

    @property
    def _natural_params(self):
        raise self._lacks("_natural_params")

    def _log_normalizer(self, *natural_params):
        raise self._lacks("_log_normalizer()")

    @property
    def _mean_carrier_measure(self):
        raise self._lacks("_mean_carrier_measure, the mean of the logarithm of the base measure")

    def _slopes(self):
        """Natural parameters that gradients can be taken by, the log normaliser, its slopes."""
        with weft.enable_grad():
            given = self._natural_params
            inputs = [each if each.requires_grad
                      else each.detach().requires_grad_() for each in given]
            normalizer = self._log_normalizer(*inputs)
            slopes = weft.autograd.grad(normalizer.sum(), inputs, create_graph=True)
        if not any(each.requires_grad for each in given):
            return given, normalizer.detach(), [each.detach() for each in slopes]
        return inputs, normalizer, slopes

    def entropy(self):
        base, ahead = self._mean_carrier_measure, self._batch_shape
        inputs, normalizer, slopes = self._slopes()
        return normalizer - base - sum(
            (each * slope).reshape(ahead + (-1,)).sum(-1) for each, slope in zip(inputs, slopes))
