"""VonMises: a distribution of angles."""
import math

import weft
from weft.distributions import _draws, constraints
from weft.distributions.distribution import Distribution
from weft.distributions.utils import broadcast_all, lazy_property


class VonMises(Distribution):
    """Angles in [-pi, pi) around `loc`; a higher `concentration` keeps them nearer."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support, _fields = constraints.real, ("loc", "concentration")

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        """The mean of the angles on the circle."""
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """1 - the length of the mean of the points on the circle."""
        return 1 - weft.special.i1e(self.concentration) / weft.special.i0e(self.concentration)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with weft.no_grad():
            angles = _draws.von_mises(self.concentration.expand(shape)) + self.loc
            return ((angles + math.pi) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def log_prob(self, value):
        angle = self._checked(value) - self.loc
        log_i0 = weft.special.i0e(self.concentration).log() + self.concentration
        return self.concentration * angle.cos() - math.log(2 * math.pi) - log_i0
