"""Normal distributions of vectors: MultivariateNormal and LowRankMultivariateNormal."""
import math

import weft
from weft import _core
from weft._names._table import Tensor, refuse
from weft.distributions import constraints
from weft.distributions.distribution import Distribution
from weft.distributions.utils import lazy_property
from weft.linalg import solve_triangular

_LOG_TWO_PI = math.log(2 * math.pi)


def require_matrix(name, argument, value, axes=2):
    """Raises unless `value` is a tensor of at least `axes` axes."""
    if not isinstance(value, Tensor) or value.ndim < axes:
        raise refuse(name, f"the parameter {argument} to be a tensor of at least {axes} "
                     f"{'axes' if axes > 1 else 'axis'}",
                     f"shape {list(value.shape)}" if isinstance(value, Tensor) else repr(value))


def times_vector(matrix, vector):
    """matrix @ vector, for batches of both."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def whitened_square(lower, vector):
    """|lower^-1 vector|^2 for batches of both; one solution for all vectors of a matrix."""
    batch = weft.broadcast_shapes(lower.shape[:-2], vector.shape[:-1])
    ahead = len(batch) - (lower.ndim - 2)
    columns = vector.expand(batch + vector.shape[-1:])
    columns = columns.reshape((-1,) + tuple(batch[ahead:]) + tuple(vector.shape[-1:]))
    solved = solve_triangular(lower, columns.movedim(0, -1), upper=False)
    return solved.square().sum(-2).movedim(-1, 0).reshape(batch)


def log_diagonal(lower):
    """Half the logarithm of the determinant of lower @ lower.mT."""
    return lower.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def factor_of_inverse(precision):
    """The lower factor of the inverse of a positive definite matrix.

    The factor U U^T of the precision, with U an upper triangle, has U^-T as the factor of the
    inverse; U is the factor of the matrix whose rows and columns are in reverse order.
    """
    upper = weft.linalg.cholesky(precision.flip((-2, -1))).flip((-2, -1))
    unit = weft.eye(precision.shape[-1], dtype=precision.dtype)
    return solve_triangular(upper.mT, unit.expand(precision.shape), upper=False)


class _Gaussian(Distribution):
    """What the two have in common, and what a divergence needs of both."""

    support, has_rsample = constraints.real_vector, True

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    def _whole(self, value, count=1):
        """`value` repeated to the batch, with `count` axes of a draw's length."""
        return value.expand(self._batch_shape + tuple(self._event_shape) * count)

    def log_prob(self, value):
        away = self._checked(value) - self.loc
        return -0.5 * (self._event_shape[0] * _LOG_TWO_PI + self._log_det()
                       + self._mahalanobis(away))

    def entropy(self):
        each = 0.5 * (self._event_shape[0] * (1 + _LOG_TWO_PI) + self._log_det())
        return each.expand(self._batch_shape)


class MultivariateNormal(_Gaussian):
    """The normal distribution of mean `loc` and one of: covariance, its inverse, its factor."""

    arg_constraints = {"loc": constraints.real_vector,
                       "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite,
                       "scale_tril": constraints.lower_cholesky}
    _fields = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")
    _kept = ("_factor",)

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None,
                 validate_args=None):
        require_matrix("MultivariateNormal", "loc", loc, axes=1)
        name, given = one_matrix("MultivariateNormal", covariance_matrix=covariance_matrix,
                                 precision_matrix=precision_matrix, scale_tril=scale_tril)
        batch = weft.broadcast_shapes(given.shape[:-2], loc.shape[:-1])
        setattr(self, name, given.expand(batch + (-1, -1)))
        self.loc = loc.expand(batch + (-1,))
        super().__init__(batch, loc.shape[-1:], validate_args=validate_args)
        self._factor = factor_of(name, given)

    @lazy_property
    def scale_tril(self):
        """The lower factor of the covariance."""
        return self._whole(self._factor, 2)

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        return self._whole(self._factor @ self._factor.mT, 2)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        return self._whole(weft.cholesky_inverse(self._factor), 2)

    @property
    def variance(self):
        return self._whole(self._factor.square().sum(-1))

    def rsample(self, sample_shape=()):
        drawn = _core.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + times_vector(self._factor, drawn)

    def _log_det(self):
        return 2 * log_diagonal(self._factor)

    def _mahalanobis(self, vector):
        """vector^T covariance^-1 vector."""
        return whitened_square(self._factor, vector)

    def _factors(self):
        """Matrices whose products with their transposes sum up to the covariance."""
        return [self._factor]

    def _trace(self, factor):
        """The trace of covariance^-1 factor factor^T."""
        batch = weft.broadcast_shapes(self._factor.shape[:-2], factor.shape[:-2])
        lower = self._factor.expand(batch + self._factor.shape[-2:])
        solved = solve_triangular(lower, factor.expand(batch + factor.shape[-2:]), upper=False)
        return solved.square().sum((-2, -1))


def one_matrix(name, **matrices):
    """The one of the matrices that was given, and its name."""
    given = {key: value for key, value in matrices.items() if value is not None}
    if len(given) != 1:
        raise refuse(name, f"exactly one of {', '.join(matrices)}",
                     " and ".join(given) if given else "none of them")
    (key, value), = given.items()
    require_matrix(name, key, value)
    return key, value


def factor_of(name, given):
    """The lower factor of the covariance that one of the three matrices says."""
    if name == "scale_tril":
        return given
    return factor_of_inverse(given) if name == "precision_matrix" else (
        weft.linalg.cholesky(given))


class LowRankMultivariateNormal(_Gaussian):
    """The one of covariance cov_factor @ cov_factor.mT + diag(cov_diag), without that matrix."""

    arg_constraints = {"loc": constraints.real_vector,
                       "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}
    _fields = ("loc", "cov_factor", "cov_diag")
    _kept = ("_low", "_diagonal", "_inner")

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        name = "LowRankMultivariateNormal"
        require_matrix(name, "loc", loc, axes=1)
        require_matrix(name, "cov_factor", cov_factor)
        require_matrix(name, "cov_diag", cov_diag, axes=1)
        size = loc.shape[-1]
        if cov_factor.shape[-2] != size or cov_diag.shape[-1] != size:
            raise refuse(name, f"cov_factor [..., {size}, m] and cov_diag [..., {size}], as long "
                         "as loc", f"{list(cov_factor.shape)} and {list(cov_diag.shape)}")
        batch = weft.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand(batch + (-1,))
        self.cov_factor = cov_factor.expand(batch + (-1, -1))
        self.cov_diag = cov_diag.expand(batch + (-1,))
        super().__init__(batch, loc.shape[-1:], validate_args=validate_args)
        self._low, self._diagonal = cov_factor, cov_diag
        # The factor of 1 + W^T D^-1 W: by it the inverse and the determinant follow (Woodbury).
        rank = weft.eye(cov_factor.shape[-1], dtype=cov_factor.dtype)
        self._inner = weft.linalg.cholesky(rank + self._weighted() @ cov_factor)

    def _weighted(self):
        """W^T D^-1."""
        return self._low.mT / self._diagonal.unsqueeze(-2)

    @property
    def variance(self):
        return self._whole(self._low.square().sum(-1) + self._diagonal)

    @lazy_property
    def scale_tril(self):
        """The lower factor of the covariance."""
        return self._whole(weft.linalg.cholesky(self._covariance()), 2)

    def _covariance(self):
        return self._low @ self._low.mT + weft.diag_embed(self._diagonal)

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        return self._whole(self._covariance(), 2)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        solved = self._solved()
        return self._whole(weft.diag_embed(1 / self._diagonal) - solved.mT @ solved, 2)

    def _solved(self):
        """inner^-1 W^T D^-1."""
        weighted = self._weighted()
        batch = weft.broadcast_shapes(self._inner.shape[:-2], weighted.shape[:-2])
        return solve_triangular(self._inner.expand(batch + self._inner.shape[-2:]),
                                weighted.expand(batch + weighted.shape[-2:]), upper=False)

    def rsample(self, sample_shape=()):
        shape, kind = self._extended_shape(sample_shape), self.loc.dtype
        inner = _core.randn(shape[:-1] + self._low.shape[-1:], dtype=kind)
        alone = _core.randn(shape, dtype=kind)
        return self.loc + times_vector(self._low, inner) + self._diagonal.sqrt() * alone

    def _log_det(self):
        return 2 * log_diagonal(self._inner) + self._diagonal.log().sum(-1)

    def _mahalanobis(self, vector):
        """vector^T covariance^-1 vector."""
        return (vector.square() / self._diagonal).sum(-1) - whitened_square(
            self._inner, times_vector(self._weighted(), vector))

    def _factors(self):
        """Matrices whose products with their transposes sum up to the covariance."""
        return [self._low, weft.diag_embed(self._diagonal.sqrt())]

    def _trace(self, factor):
        """The trace of covariance^-1 factor factor^T."""
        scaled = factor / self._diagonal.sqrt().unsqueeze(-1)
        return scaled.square().sum((-2, -1)) - (self._solved() @ factor).square().sum((-2, -1))
