"""Transforms of vectors and of matrices."""
import math

import weft
from weft._limits import finfo
from weft._names._table import refuse
from weft.distributions import constraints
from weft.distributions.transforms.elementwise import Alike, clipped_sigmoid
from weft.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from weft.nn.functional import logsigmoid, pad, softplus


class SoftmaxTransform(Alike):
    """y = softmax(x) along the last axis; log(y) stands for its inverse."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        self._require_axes(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Alike):
    """x of n numbers to n + 1 probabilities: each breaks off a share of what the ones before it
    have left. x = 0 gives equal probabilities."""

    domain, codomain, bijective = constraints.real_vector, constraints.simplex, True

    @staticmethod
    def _log_left(count, beside):
        """log(count), log(count - 1), ... 0: the odds that shares are measured by."""
        return weft.arange(count, 0, -1, dtype=beside.dtype).log()

    def _call(self, x):
        share = clipped_sigmoid(x - self._log_left(x.shape[-1], x))
        left = (1 - share).cumprod(-1)
        return pad(share, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y):
        broken = y[..., :-1]
        left = (1 - broken.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return broken.log() - left.log() + self._log_left(broken.shape[-1], y)

    def log_abs_det_jacobian(self, x, y):
        odds = x - self._log_left(x.shape[-1], x)
        return (logsigmoid(-odds) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        self._require_axes(shape, 1)
        return weft.Size(shape[:-1]) + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        self._require_axes(shape, 1)
        return weft.Size(shape[:-1]) + (shape[-1] - 1,)


class LowerCholeskyTransform(Alike):
    """Square matrices to lower triangles with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + weft.diag_embed(x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y):
        return y.tril(-1) + weft.diag_embed(y.diagonal(dim1=-2, dim2=-1).log())


class CorrCholeskyTransform(Alike):
    """D (D - 1) / 2 numbers to the factor of a D x D correlation matrix.

    tanh of the numbers are partial correlations; row by row each takes its share of what is left of
    the length 1 of its row.
    """

    domain, codomain, bijective = constraints.real_vector, constraints.corr_cholesky, True

    @staticmethod
    def _before(values):
        """Each row moved one place on, with a 1 ahead."""
        return pad(values[..., :-1], [1, 0], value=1)

    def _call(self, x):
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial.square()).sqrt().cumprod(-1)
        return (partial + weft.eye(partial.shape[-1], dtype=x.dtype)) * self._before(left)

    def _inverse(self, y):
        left = self._before(1 - y.square().cumsum(-1))
        return (tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(left, -1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x, y):
        left = tril_matrix_to_vec(1 - y.square().cumsum(-1), diag=-2)
        return (0.5 * left.log().sum(-1)
                - 2 * (x + softplus(-2 * x) - math.log(2)).sum(-1))

    def forward_shape(self, shape):
        self._require_axes(shape, 1)
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise refuse("CorrCholeskyTransform", "a last axis of D (D - 1) / 2 numbers, such as "
                         "1, 3, 6 or 10", shape[-1])
        return weft.Size(shape[:-1]) + (size, size)

    def inverse_shape(self, shape):
        self._require_axes(shape, 2)
        if shape[-2] != shape[-1]:
            raise refuse("CorrCholeskyTransform", "square matrices", list(shape))
        return weft.Size(shape[:-2]) + (shape[-1] * (shape[-1] - 1) // 2,)
