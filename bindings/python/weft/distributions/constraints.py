"""weft.distributions.constraints: the regions in which parameters and draws have to lie.

A constraint's check(value) gives a bool for each event: it takes the last `event_dim` axes away.
"""
from typing import Tuple

import weft
from weft._limits import finfo
from weft._names._table import refuse

__all__ = [
    "Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval",
    "interval", "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial",
    "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_definite",
    "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex", "square",
    "stack", "symmetric", "unit_interval"]


class Constraint:
    """A region: whether it holds whole numbers only, and how many axes one of its points has."""

    is_discrete = False
    event_dim = 0
    _bounds: Tuple[str, ...] = ()  # attributes that a printed constraint shows

    def check(self, value):
        """Whether each event of `value` lies in the region."""
        raise NotImplementedError(f"{type(self).__name__} has no check()")

    def __repr__(self):
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self._bounds)
        return f"{type(self).__name__.lstrip('_')}({shown})"


class _Dependent(Constraint):
    """A region that depends on other parameters, so that the class alone cannot check it."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def _known(self, name):
        value = getattr(self, "_" + name)
        if value is NotImplemented:
            raise NotImplementedError(f"{name} of this constraint depends on the parameters: ask "
                                      f"the constraint of an object, not that of its class")
        return value

    @property
    def is_discrete(self):
        return self._known("is_discrete")

    @property
    def event_dim(self):
        return self._known("event_dim")

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        """The same with other attributes."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, value):
        raise refuse("check", "a constraint that other parameters do not decide", self)


def is_dependent(constraint):
    """Whether only an object of a distribution can check that constraint."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of objects that is a dependent constraint of their class."""

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn):
        """As a decorator with arguments."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """`base_constraint`, some of whose batch axes belong to the event."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        if not isinstance(base_constraint, Constraint):
            raise refuse("independent", "a Constraint as base_constraint", repr(base_constraint))
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise refuse("independent", "a whole number reinterpreted_batch_ndims >= 0",
                         repr(reinterpreted_batch_ndims))
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        result = self.base_constraint.check(value)
        ahead = result.ndim - self.reinterpreted_batch_ndims
        if ahead < 0:
            raise refuse("check", f"a value of at least {self.event_dim} axes",
                         f"{value.ndim} axes")
        return result.reshape(result.shape[:ahead] + (-1,)).all(-1)

    def __repr__(self):
        return (f"IndependentConstraint({self.base_constraint!r}, "
                f"{self.reinterpreted_batch_ndims})")


def _whole(value):
    return value % 1 == 0


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors with a single 1 among zeros."""

    is_discrete, event_dim = True, 1

    def check(self, value):
        return boolean.check(value).all(-1) & (value.sum(-1) == 1)


class _Bounded(Constraint):
    """What has a lower and an upper bound, numbers or tensors."""

    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _BoundedBelow(Constraint):
    """What has a lower bound."""

    _bounds = ("lower_bound",)

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound


class _IntegerInterval(_Bounded):
    """Whole numbers between two bounds, both of them included."""

    is_discrete = True

    def check(self, value):
        return _whole(value) & (value >= self.lower_bound) & (value <= self.upper_bound)


class _IntegerGreaterThan(_BoundedBelow):
    """Whole numbers from the bound on."""

    is_discrete = True

    def check(self, value):
        return _whole(value) & (value >= self.lower_bound)


class _Real(Constraint):
    """Every number, infinities too, but not NaN."""

    def check(self, value):
        return value == value


class _GreaterThan(_BoundedBelow):
    """Numbers above the bound."""

    def check(self, value):
        return value > self.lower_bound


class _GreaterThanEq(_BoundedBelow):
    """Numbers from the bound on."""

    def check(self, value):
        return value >= self.lower_bound


class _LessThan(Constraint):
    """Numbers below the bound."""

    _bounds = ("upper_bound",)

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return value < self.upper_bound


class _Interval(_Bounded):
    """Numbers between two bounds, both of them included."""

    def check(self, value):
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    """Numbers from the lower bound on and below the upper one."""

    def check(self, value):
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Vectors without negative values, whose sum is 1."""

    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts whose sum is at most the bound."""

    is_discrete, event_dim = True, 1
    _bounds = ("upper_bound",)

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    """Square matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value):
        return (value.tril() == value).all(-1).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Those whose diagonal is positive."""

    def check(self, value):
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Those whose rows have length 1, but for rounding: factors of correlation matrices."""

    def check(self, value):
        rounding = finfo(value.dtype).eps * value.shape[-1] * 10
        lengths = value.detach().square().sum(-1).sqrt()
        return super().check(value) & ((lengths - 1).abs() <= rounding).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value):
        return weft.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=weft.bool)


class _Symmetric(_Square):
    """Matrices that equal their transpose, but for rounding."""

    def check(self, value):
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return weft.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without a negative eigenvalue."""

    def check(self, value):
        symmetric_ones = super().check(value)
        if not symmetric_ones.all():
            return symmetric_ones
        return (weft.linalg.eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices that have a factor of Cholesky."""

    def check(self, value):
        symmetric_ones = super().check(value)
        if not symmetric_ones.all():
            return symmetric_ones
        return weft.linalg.cholesky_ex(value).info == 0


class _Sequence(Constraint):
    """Several constraints, each for a part of an axis."""

    def __init__(self, cseq, dim):
        self.cseq, self.dim = list(cseq), dim
        wrong = [each for each in self.cseq if not isinstance(each, Constraint)]
        if wrong:
            raise refuse(type(self).__name__.lstrip("_").lower(),
                         "cseq to hold Constraints alone", repr(wrong[0]))

    @property
    def is_discrete(self):
        return any(each.is_discrete for each in self.cseq)

    @property
    def event_dim(self):
        return max(each.event_dim for each in self.cseq)


class _Cat(_Sequence):
    """Constraint i holds for the next lengths[i] places of the axis `dim`."""

    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise refuse("cat", f"{len(self.cseq)} lengths, one for each constraint", lengths)

    def check(self, value):
        parts = value.split(self.lengths, self.dim)
        return weft.cat([each.check(part) for each, part in zip(self.cseq, parts)], self.dim)


class _Stack(_Sequence):
    """Constraint i holds for place i of the axis `dim`."""

    def __init__(self, cseq, dim=0):
        super().__init__(cseq, dim)

    @property
    def event_dim(self):
        inner = super().event_dim
        return inner + (self.dim + inner < 0)

    def check(self, value):
        places = value.unbind(self.dim)
        return weft.stack([each.check(place) for each, place in zip(self.cseq, places)], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
