"""Transform, and the transforms that are made of others."""
import weakref

import weft
from weft._names._table import refuse
from weft.distributions import constraints
from weft.distributions.utils import sum_rightmost


class Transform:
    """A function of tensors, mostly one that has an inverse.

    A class of one's own defines `domain` and `codomain`, _call(x) or _inverse(y) or both, and,
    where `bijective`, log_abs_det_jacobian(x, y). cache_size=1 keeps the latest x and y, so that
    the inverse of a value that was just computed costs nothing.
    """

    bijective = False

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise refuse(type(self).__name__, "cache_size 0 or 1", cache_size)
        self._cache_size, self._inv = cache_size, None
        self._cached_x_y = None, None

    def __getstate__(self):
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self):
        """How many axes one value has, where it has as many before as after."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise refuse(f"{type(self).__name__}.event_dim", "values to have as many axes before "
                         "as after: ask .domain.event_dim or .codomain.event_dim",
                         f"{self.domain.event_dim} and {self.codomain.event_dim}")
        return self.domain.event_dim

    @property
    def inv(self):
        """The inverse; its own inverse is this transform."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self):
        """1 if it rises, -1 if it falls."""
        raise NotImplementedError(f"{type(self).__name__} neither rises nor falls everywhere")

    def _again(self, cache_size):
        """The same transform with that cache."""
        if type(self).__init__ is not Transform.__init__:
            raise NotImplementedError(f"{type(self).__name__} has an __init__() of its own: it "
                                      "needs a with_cache() of its own too")
        return type(self)(cache_size=cache_size)

    def with_cache(self, cache_size=1):
        """The same transform, with another size of its cache."""
        return self if self._cache_size == cache_size else self._again(cache_size)

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x):
        """y."""
        if self._cache_size and self._cached_x_y[0] is x:
            return self._cached_x_y[1]
        y = self._call(x)
        if self._cache_size:
            self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        """x."""
        if self._cache_size and self._cached_x_y[1] is y:
            return self._cached_x_y[0]
        x = self._inverse(y)
        if self._cache_size:
            self._cached_x_y = x, y
        return x

    def _call(self, x):
        raise NotImplementedError(f"{type(self).__name__} has no _call(): only its inverse works")

    def _inverse(self, y):
        raise NotImplementedError(f"{type(self).__name__} has no _inverse()")

    def log_abs_det_jacobian(self, x, y):
        """log |dy/dx|, one number for each event."""
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian(): it is not "
                                  f"bijective")

    def __repr__(self):
        return f"{type(self).__name__}()"

    def forward_shape(self, shape):
        """The shape of y for x of that shape."""
        return shape

    def inverse_shape(self, shape):
        """The shape of x for y of that shape."""
        return shape

    def _require_axes(self, shape, count):
        if len(shape) < count:
            raise refuse(type(self).__name__, f"a shape of at least {count} axes", list(shape))


class _InverseTransform(Transform):
    """The inverse of a transform, which it keeps alive."""

    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self):
        return dict(self.__dict__)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """The other's codomain."""
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        """The other's domain."""
        return self._inv.domain

    @property
    def bijective(self):
        """Whether the other is."""
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    @property
    def inv(self):
        return self._inv

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)


def _with_axes(constraint, event_dim):
    """`constraint` for events of `event_dim` axes, at least as many as it has."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more else constraint


class ComposeTransform(Transform):
    """One transform after the other; none at all is the identity."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.parts = [part.with_cache(cache_size) if cache_size else part for part in parts]

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """That of the first part, with as many axes as the parts after it need."""
        if not self.parts:
            return constraints.real
        axes = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            axes += part.domain.event_dim - part.codomain.event_dim
            axes = max(axes, part.domain.event_dim)
        return _with_axes(self.parts[0].domain, axes)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        """That of the last part, with as many axes as the parts before it need."""
        if not self.parts:
            return constraints.real
        axes = self.parts[0].domain.event_dim
        for part in self.parts:
            axes += part.codomain.event_dim - part.domain.event_dim
            axes = max(axes, part.codomain.event_dim)
        return _with_axes(self.parts[-1].codomain, axes)

    @property
    def bijective(self):
        """Whether all parts are."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self):
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self):
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv, inverse._inv = weakref.ref(inverse), weakref.ref(self)
        return inverse

    def _again(self, cache_size):
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return weft.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        axes, total = self.domain.event_dim, 0
        for part, before, after in zip(self.parts, values, values[1:]):
            total = total + sum_rightmost(part.log_abs_det_jacobian(before, after),
                                          axes - part.domain.event_dim)
            axes += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return f"ComposeTransform([{', '.join(map(repr, self.parts))}])"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """`base_transform`, some of whose batch axes belong to one value."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _again(self, cache_size):
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """The base's, with more axes."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        """The base's, with more axes."""
        return constraints.independent(self.base_transform.codomain,
                                       self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        """Whether the base is."""
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        self._require_axes(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y):
        self._require_axes(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y),
                             self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Another shape for the last axes."""

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape, self.out_shape = weft.Size(in_shape), weft.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise refuse("ReshapeTransform", "in_shape and out_shape of one number of elements",
                         f"{list(in_shape)} and {list(out_shape)}")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self):
        """Real numbers, as many axes as in_shape."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        """Real numbers, as many axes as out_shape."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _again(self, cache_size):
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size)

    def _replaced(self, shape, old, new):
        self._require_axes(shape, len(old))
        ahead = len(shape) - len(old)
        if tuple(shape[ahead:]) != tuple(old):
            raise refuse("ReshapeTransform", f"a shape that ends with {list(old)}", list(shape))
        return weft.Size(shape[:ahead]) + new

    def _call(self, x):
        return x.reshape(self._replaced(x.shape, self.in_shape, self.out_shape))

    def _inverse(self, y):
        return y.reshape(self._replaced(y.shape, self.out_shape, self.in_shape))

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[:x.ndim - len(self.in_shape)])

    def forward_shape(self, shape):
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return self._replaced(shape, self.out_shape, self.in_shape)
