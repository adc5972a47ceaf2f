"""Several transforms, each for a part of an axis."""
import weft
from weft._names._table import refuse
from weft.distributions import constraints
from weft.distributions.transforms.base import Transform
from weft.distributions.utils import sum_rightmost


class _Sequence(Transform):
    def __init__(self, tseq, dim, cache_size):
        tseq = list(tseq)
        wrong = [each for each in tseq if not isinstance(each, Transform)]
        if wrong:
            raise refuse(type(self).__name__, "tseq to hold Transforms alone", repr(wrong[0]))
        super().__init__(cache_size=cache_size)
        self.transforms = [each.with_cache(cache_size) for each in tseq] if cache_size else tseq
        self.dim = dim

    @property
    def bijective(self):
        """Whether all are."""
        return all(each.bijective for each in self.transforms)

    def _require_length(self, value, length):
        if not -value.ndim <= self.dim < value.ndim or value.shape[self.dim] != length:
            raise refuse(type(self).__name__, f"a value of length {length} along axis {self.dim}",
                         f"shape {list(value.shape)}")


class CatTransform(_Sequence):
    """Transform i for the next lengths[i] places of the axis `dim`."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise refuse("CatTransform", f"{len(self.transforms)} lengths, one for each transform",
                         lengths)

    def _again(self, cache_size):
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    @property
    def event_dim(self):
        return max(each.event_dim for each in self.transforms)

    @property
    def length(self):
        """The sum of lengths."""
        return sum(self.lengths)

    def _parts(self, value):
        self._require_length(value, self.length)
        return value.split(self.lengths, self.dim)

    def _call(self, x):
        return weft.cat([each(part) for each, part in zip(self.transforms, self._parts(x))],
                        self.dim)

    def _inverse(self, y):
        return weft.cat([each.inv(part) for each, part in zip(self.transforms, self._parts(y))],
                        self.dim)

    def log_abs_det_jacobian(self, x, y):
        axes = self.event_dim
        found = [sum_rightmost(each.log_abs_det_jacobian(before, after), axes - each.event_dim)
                 for each, before, after in zip(self.transforms, self._parts(x), self._parts(y))]
        dim = (self.dim - x.ndim if self.dim >= 0 else self.dim) + axes
        return weft.cat(found, dim) if dim < 0 else sum(found)

    @constraints.dependent_property
    def domain(self):
        """Those of the parts."""
        return constraints.cat([each.domain for each in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        """Those of the parts."""
        return constraints.cat([each.codomain for each in self.transforms], self.dim, self.lengths)


class StackTransform(_Sequence):
    """Transform i for place i of the axis `dim`."""

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size)

    def _again(self, cache_size):
        return StackTransform(self.transforms, self.dim, cache_size)

    def _places(self, value):
        self._require_length(value, len(self.transforms))
        return value.unbind(self.dim)

    def _call(self, x):
        return weft.stack([each(place) for each, place in zip(self.transforms, self._places(x))],
                          self.dim)

    def _inverse(self, y):
        return weft.stack([each.inv(place)
                           for each, place in zip(self.transforms, self._places(y))], self.dim)

    def log_abs_det_jacobian(self, x, y):
        return weft.stack([each.log_abs_det_jacobian(before, after) for each, before, after in zip(
            self.transforms, self._places(x), self._places(y))], self.dim)

    @constraints.dependent_property
    def domain(self):
        """Those of the places."""
        return constraints.stack([each.domain for each in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        """Those of the places."""
        return constraints.stack([each.codomain for each in self.transforms], self.dim)
