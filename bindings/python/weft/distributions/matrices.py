"""Distributions of matrices: Wishart and LKJCholesky."""
import math
import warnings

import weft
from weft import _core
from weft._limits import finfo
from weft._names._table import Tensor, refuse
from weft.distributions import _draws, constraints
from weft.distributions.distribution import Distribution, ExponentialFamily, first_outside
from weft.distributions.gammas import Beta
from weft.distributions.gaussians import factor_of, log_diagonal, one_matrix
from weft.distributions.utils import broadcast_all, lazy_property


class Wishart(ExponentialFamily):
    """The sum of `df` squares x x^T of normal vectors, for numbers df that need not be whole."""

    arg_constraints = {"covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite,
                       "scale_tril": constraints.lower_cholesky,
                       "df": constraints.greater_than(0)}
    support, has_rsample = constraints.positive_definite, True
    _fields = ("df", "covariance_matrix", "precision_matrix", "scale_tril")
    _kept, _mean_carrier_measure = ("_factor",), 0

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None,
                 validate_args=None):
        name, given = one_matrix("Wishart", covariance_matrix=covariance_matrix,
                                 precision_matrix=precision_matrix, scale_tril=scale_tril)
        if not isinstance(df, Tensor):
            df = weft.tensor(df, dtype=given.dtype)
        batch, size = weft.broadcast_shapes(given.shape[:-2], df.shape), given.shape[-1]
        self.df = df.expand(batch)
        if not (df > size - 1).all():
            raise refuse("Wishart", f"the parameter df to be above {size - 1}, the size of the "
                         "matrices - 1", first_outside(df, df > size - 1))
        if (df < size).any():
            warnings.warn(f"Wishart: with df below {size}, the size of the matrices, draws may be "
                          "singular but for rounding", stacklevel=2)
        setattr(self, name, given.expand(batch + (-1, -1)))
        super().__init__(batch, given.shape[-2:], validate_args=validate_args)
        self._factor = factor_of(name, given)

    @lazy_property
    def scale_tril(self):
        """The lower factor of the covariance."""
        return self._factor.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self):
        """The covariance of the vectors."""
        return (self._factor @ self._factor.mT).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        return weft.cholesky_inverse(self._factor).expand(self._batch_shape + self._event_shape)

    def _df_of_matrices(self):
        return self.df.unsqueeze(-1).unsqueeze(-1)

    @property
    def mean(self):
        return self._df_of_matrices() * self.covariance_matrix

    @property
    def mode(self):
        """NaN where df is at most the size of the matrices + 1."""
        factor = self._df_of_matrices() - self._event_shape[0] - 1
        return weft.where(factor <= 0, math.nan, factor) * self.covariance_matrix

    @property
    def variance(self):
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self._df_of_matrices() * (
            covariance.square() + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape=(), max_try_correction=None):
        """By Bartlett's factor: chi draws on the diagonal and normal ones below it. Draws that are
        singular are drawn again, up to max_try_correction (10) times."""
        drawn = self._bartlett(sample_shape)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            good = self.support.check(drawn.detach())
            if good.all():
                return drawn
            again = self._bartlett(sample_shape)
            drawn = weft.where(good.unsqueeze(-1).unsqueeze(-1), drawn, again)
        if not self.support.check(drawn.detach()).all():
            warnings.warn("Wishart: a draw is singular but for rounding", stacklevel=2)
        return drawn

    def _bartlett(self, sample_shape):
        shape, size = self._extended_shape(sample_shape), self._event_shape[0]
        freedom = self.df.unsqueeze(-1) - weft.arange(size, dtype=self.df.dtype)
        chi2 = 2 * _draws.standard_gamma((freedom / 2).expand(shape[:-1]))
        below = _core.randn(shape, dtype=self._factor.dtype).tril(-1)
        chi = chi2.clamp(min=finfo(chi2.dtype).eps).sqrt()
        factor = self._factor @ (below + weft.diag_embed(chi))
        return factor @ factor.mT

    def log_prob(self, value):
        value, df, size = self._checked(value), self.df, self._event_shape[0]
        batch = weft.broadcast_shapes(value.shape[:-2], self._factor.shape[:-2])
        scaled = weft.cholesky_solve(value.expand(batch + self._event_shape),
                                     self._factor.expand(batch + self._event_shape))
        return (-df * (size * math.log(2) / 2 + log_diagonal(self._factor))
                - weft.mvlgamma(df / 2, size)
                + (df - size - 1) / 2 * weft.linalg.slogdet(value).logabsdet
                - scaled.diagonal(dim1=-2, dim2=-1).sum(-1) / 2)

    def entropy(self):
        df, size = self.df, self._event_shape[0]
        halves = weft.arange(size, dtype=df.dtype) / 2
        digammas = ((df / 2).unsqueeze(-1) - halves).digamma().sum(-1)
        return ((size + 1) * (size * math.log(2) / 2 + log_diagonal(self._factor))
                + weft.mvlgamma(df / 2, size) - (df - size - 1) / 2 * digammas + df * size / 2)

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[0] - 1) / 2

    def _log_normalizer(self, x, y):
        size = self._event_shape[0]
        at = y + (size + 1) / 2
        return (at * (size * math.log(2) - weft.linalg.slogdet(-2 * x).logabsdet)
                + weft.mvlgamma(at, size))


class LKJCholesky(Distribution):
    """Factors of correlation matrices, of density proportional to determinant^(concentration - 1)
    of the matrix: 1 makes all of them alike (Lewandowski, Kurowicka and Joe, 2009)."""

    arg_constraints, support = {"concentration": constraints.positive}, constraints.corr_cholesky
    _fields, _kept = ("concentration", "_beta"), ("dim",)

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if not isinstance(dim, int) or dim < 2:
            raise refuse("LKJCholesky", "the parameter dim to be a whole number >= 2", repr(dim))
        self.dim = dim
        self.concentration, = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)
        # Row i of the factor: the square of its length before the diagonal is a beta draw, its
        # direction is uniform (the onion method). Row 0 has none: its place is drawn for nothing.
        rows = weft.arange(dim, dtype=self.concentration.dtype).clamp(min=1) - 1
        ends = self.concentration.unsqueeze(-1) + 0.5 * (dim - 2) - 0.5 * rows
        self._beta = Beta((rows + 1) / 2, ends, validate_args=False)

    def sample(self, sample_shape=()):
        with weft.no_grad():
            squares = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = _core.randn(self._extended_shape(sample_shape), dtype=squares.dtype).tril(-1)
            lengths = normal.square().sum(-1, True).sqrt()
            rows = squares.sqrt() * normal / weft.where(lengths == 0, 1.0, lengths)
            left = (1 - rows.square().sum(-1)).clamp(min=finfo(rows.dtype).tiny)
            return rows + weft.diag_embed(left.sqrt())

    def log_prob(self, value):
        logs = self._checked(value).diagonal(dim1=-2, dim2=-1)[..., 1:].log()
        rows = weft.arange(2, self.dim + 1, dtype=self.concentration.dtype)
        orders = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        before = self.dim - 1
        alpha = self.concentration + 0.5 * before
        volume = (0.5 * before * math.log(math.pi) + weft.mvlgamma(alpha - 0.5, before)
                  - before * alpha.lgamma())
        return (orders * logs).sum(-1) - volume
