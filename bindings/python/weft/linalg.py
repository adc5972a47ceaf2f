"""weft.linalg: norms, products and factorizations of matrices.

Factorizations are computed in double precision and rounded to the type of the operands; eigenvectors
and singular vectors may have other signs than PyTorch's. Gradients pass through inv, solve, det,
slogdet, cholesky, eigh, eigvalsh, svdvals and lu; qr and svd refuse tensors that require grad.
"""
import collections
import math

from weft import _core
from weft._names._table import Tensor, recorded, refuse
from weft._names.factors import (  # noqa: F401
    _cholesky_ex as cholesky_ex, _inv_ex as inv_ex, _lu as lu, _lu_factor as lu_factor,
    _lu_solve as lu_solve, _solve_triangular as solve_triangular, _tensorinv as tensorinv,
    _tensorsolve as tensorsolve, _vecdot as vecdot, matrix_exp)
from weft._names.products import cross, matrix_power, multi_dot  # noqa: F401
from weft._names.shapes import broadcast_shapes

matmul = _core.matmul
LinAlgError = _core.InvalidArgumentError
_types = _core._return_types


def _matrices(name, x, square=False):
    if not isinstance(x, Tensor):
        raise TypeError(f"linalg.{name}(): argument 'A' must be weft.Tensor, got {type(x).__name__}")
    if x.ndim < 2 or not x.is_floating_point():
        raise refuse(name, "floating matrices [..., m, n]", f"{x.dtype} of shape {list(x.shape)}")
    if square and x.shape[-1] != x.shape[-2]:
        raise refuse(name, "square matrices", f"shape {list(x.shape)}")
    return x


def _batch(x):
    return x.detach().double().reshape(-1, *x.shape[-2:])


def _like(found, x, *shape):
    """`found` in the type of x, with its leading axes."""
    return found.to(x.dtype).reshape(*x.shape[:-2], *shape) if x.ndim > 2 or shape else (
        found.to(x.dtype).reshape(()))


def inv(A):
    """The inverse of square matrices."""
    x = _matrices("inv", A, True)
    n = x.shape[-1]
    batch = _batch(x)
    identity = _core.eye(n, dtype=_core.float64).expand(*batch.shape)
    output = _like(_core._solve(batch, identity), x, n, n)

    def slopes(gradient, saved):
        inverse = inv(saved).mT
        return [-(inverse @ gradient @ inverse)]

    return recorded("linalg_inv_ex", output, [x], slopes)


def solve(A, B, *, left=True):
    """x with A @ x = B, or x @ A = B if not `left`."""
    a = _matrices("solve", A, True)
    if not left:
        return solve(a.mT, B.mT).mT
    vector = B.ndim == 1 or B.ndim == a.ndim - 1 and tuple(B.shape) == tuple(a.shape[:-1])
    rhs = B.unsqueeze(-1) if vector else B
    ahead = broadcast_shapes(a.shape[:-2], rhs.shape[:-2])
    a, rhs = a.expand(*ahead, *a.shape[-2:]), rhs.expand(*ahead, *rhs.shape[-2:])
    if a.dtype is not rhs.dtype:
        raise refuse("solve", "two tensors of one type", f"{a.dtype} and {rhs.dtype}")
    output = _like(_core._solve(_batch(a), _batch(rhs)), rhs, *rhs.shape[-2:])

    def slopes(gradient, saved_a, saved_rhs):
        of_rhs = solve(saved_a.mT, gradient)
        return [-(of_rhs @ solve(saved_a, saved_rhs).mT), of_rhs]

    found = recorded("linalg_solve_ex", output, [a, rhs], slopes)
    return found.squeeze(-1) if vector else found


def slogdet(A):
    """(sign, logabsdet) of the determinants."""
    x = _matrices("slogdet", A, True)
    sign, log = (_like(each, x) for each in _core._slogdet(_batch(x)))
    log = recorded("linalg_slogdet", log, [x],
                   lambda dy, saved: [dy[..., None, None] * inv(saved).mT])
    return _types["linalg_slogdet"]((sign, log))


def det(A):
    """The determinants of square matrices."""
    x = _matrices("det", A, True)
    sign, log = _core._slogdet(_batch(x))
    output = _like(sign * log.exp(), x)
    return recorded("linalg_det", output, [x],
                    lambda dy, saved: [(dy * det(saved))[..., None, None] * inv(saved).mT])


def cholesky(A, *, upper=False):
    """The lower triangle L with L @ L.T = A, or its transpose."""
    x = _matrices("cholesky", A, True)
    output = _like(_core._cholesky(_batch(x)), x, *x.shape[-2:])

    def slopes(gradient, saved):
        lower = cholesky(saved)
        inverse = inv(lower)
        half = (lower.mT @ gradient).tril()
        half = half - _core.diagonal(half, 0, -2, -1).diag_embed() / 2
        found = inverse.mT @ half @ inverse
        return [(found + found.mT) / 2]

    lower = recorded("linalg_cholesky_ex", output, [x], slopes)
    return lower.mT if upper else lower


def _without_gradient(name, x, other):
    if x.requires_grad and _core.is_grad_enabled():
        raise refuse(name, f"a tensor that requires no grad: take .detach(){other}", "one that does")
    return x


def qr(A, mode="reduced"):
    """(Q, R): orthonormal columns times an upper triangle; mode reduced, complete or r."""
    if mode not in ("reduced", "complete", "r"):
        raise refuse("qr", "mode reduced, complete or r", repr(mode))
    x = _without_gradient("qr", _matrices("qr", A), "")
    q, r = _core._qr(_batch(x), mode == "complete")
    r = _like(r, x, *r.shape[1:])
    q = _core.zeros(0, dtype=x.dtype) if mode == "r" else _like(q, x, *q.shape[1:])
    return _types["linalg_qr"]((q, r))


def eigh(A, UPLO="L"):
    """(eigenvalues, eigenvectors) of symmetric matrices, ascending."""
    x = _matrices("eigh", A, True)
    return _types["linalg_eigh"]((eigvalsh(x, UPLO), _eigenvectors(x, UPLO)))


def _symmetric(x, uplo):
    if uplo not in ("L", "U", "l", "u"):
        raise refuse("eigh", "UPLO L or U", repr(uplo))
    return _batch(x if uplo in "Ll" else x.mT)


def eigvalsh(A, UPLO="L"):
    """The eigenvalues of symmetric matrices, ascending."""
    x = _matrices("eigvalsh", A, True)
    values, vectors = _core._eigh(_symmetric(x, UPLO))
    vectors = _like(vectors, x, *x.shape[-2:])
    return recorded("linalg_eigh", _like(values, x, x.shape[-1]), [x],
                    lambda dy, saved: [(vectors * dy.unsqueeze(-2)) @ vectors.mT])


def _eigenvectors(x, uplo):
    values, vectors = _core._eigh(_symmetric(x, uplo))
    values, vectors = _like(values, x, x.shape[-1]), _like(vectors, x, *x.shape[-2:])

    def slopes(gradient, saved):
        apart = values.unsqueeze(-2) - values.unsqueeze(-1)
        weights = _core.where(apart == 0, 0.0, 1 / _core.where(apart == 0, 1.0, apart))
        return [vectors @ ((vectors.mT @ gradient) * weights) @ vectors.mT]

    return recorded("linalg_eigh", vectors, [x], slopes)


def _thin(x):
    """u, s, v of matrices of any form."""
    batch = _batch(x)
    if x.shape[-2] >= x.shape[-1]:
        return _core._svd(batch)
    v, s, u = _core._svd(batch.mT.contiguous())
    return u, s, v


def _completed(columns):
    """More columns, so that all are orthonormal and as many as the rows; zero ones replaced."""
    rows, count = columns.shape[-2:]
    square = _core.cat([columns, _core.zeros(columns.shape[0], rows, rows - count,
                                             dtype=columns.dtype)], -1)
    identity = _core.eye(rows, dtype=columns.dtype).expand(columns.shape[0], rows, rows)
    found = []
    for matrix, axes in zip(square, identity):
        basis = []
        wanted = [column for column in matrix.t() if column.norm() > 0.5]
        for column in [*wanted, *axes]:
            rest = column
            for _ in range(2):  # the second pass removes the rounding of the first
                for each in basis:
                    rest = rest - each * each.dot(rest)
            if rest.norm() > 1e-8 * (1 if len(basis) < len(wanted) else 1e4):
                basis.append(rest / rest.norm())
            if len(basis) == rows:
                break
        found.append(_core.stack(basis, 1))
    return _core.stack(found) if found else square


def svd(A, full_matrices=True):
    """(U, S, Vh) with A = U diag(S) Vh and S descending."""
    x = _without_gradient("svd", _matrices("svd", A), ", or linalg.svdvals()")
    u, s, v = _thin(x)
    if bool((s == 0).any()) or full_matrices:
        k = s.shape[-1]
        u, v = _completed(u), _completed(v)
        if not full_matrices:
            u, v = u[..., :k], v[..., :k]
    return _types["linalg_svd"]((_like(u, x, *u.shape[1:]), _like(s, x, s.shape[-1]),
                                 _like(v.mT, x, v.shape[-1], v.shape[-2])))


def svdvals(A):
    """The singular values of matrices, descending."""
    x = _matrices("svdvals", A)
    u, s, v = (_like(each, x, *each.shape[1:]) for each in _thin(x))
    return recorded("linalg_svd", s, [x], lambda dy, saved: [(u * dy.unsqueeze(-2)) @ v.mT])


def pinv(A, rcond=None, *, rtol=None):
    """The inverse of Moore and Penrose; singular values below rtol times the largest are 0."""
    x = _matrices("pinv", A)
    from weft._limits import finfo

    share = rcond if rcond is not None else rtol
    share = max(x.shape[-2:]) * finfo(x.dtype).eps if share is None else share
    u, s, vh = svd(x, False)
    keep = s > share * s.amax(-1, True)
    scaled = _core.where(keep, 1 / _core.where(keep, s, 1.0), 0.0)
    return (vh.mT * scaled.unsqueeze(-2)) @ u.mT


Lstsq = collections.namedtuple("Lstsq", ["solution", "residuals", "rank", "singular_values"])


def lstsq(A, B, rcond=None, *, driver=None):
    """(solution of least squares, residuals, rank, singular_values), by the inverse of Moore and
    Penrose. Of these each driver has those that it has in PyTorch: gels sums of squares as residuals,
    gelsy the rank, gelsd and gelss both and the singular values; what is missing is empty."""
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise refuse("lstsq", "driver gels, gelsy, gelsd, gelss or None", repr(driver))
    found = pinv(A, rcond) @ B
    rank = matrix_rank(A.detach(), rtol=rcond)
    rows, columns = A.shape[-2:]
    summed = driver not in (None, "gelsy") and rows > columns and bool((rank == columns).all())
    none = _core.zeros(0, dtype=A.dtype)
    return Lstsq(found, (A @ found - B).square().sum(-2) if summed else none,
                 rank if driver != "gels" else none.long(),
                 svdvals(A.detach()) if driver in ("gelsd", "gelss") else none)


def matrix_rank(A, *, atol=None, rtol=None, tol=None):
    """How many singular values are not 0, but for rounding."""
    from weft._limits import finfo

    s = svdvals(A.detach())
    if tol is None:
        share = max(A.shape[-2:]) * finfo(A.dtype).eps if rtol is None else rtol
        tol = s.amax(-1, True) * share
        tol = tol.clamp(min=atol) if atol is not None else tol
    return (s > tol).sum(-1)


def cond(A, p=None):
    """The largest singular value over the smallest."""
    if p not in (None, 2):
        return matrix_norm(A, p) * matrix_norm(inv(A), p)
    s = svdvals(A)
    return s[..., 0] / s[..., -1]


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):  # noqa: A002
    """(sum |x|^ord)^(1/ord)."""
    return (x if dtype is None else x.to(dtype)).norm(ord, dim, keepdim)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):  # noqa: A002
    """A norm of matrices: fro, nuc, 1, -1, 2, -2, inf, -inf."""
    x = A if dtype is None else A.to(dtype)
    rows, columns = (axis % x.ndim for axis in dim)
    if ord == "fro":
        return x.norm(2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        s = svdvals(x.movedim((rows, columns), (-2, -1)))
        found = s.sum(-1) if ord == "nuc" else s.amax(-1) if ord == 2 else s.amin(-1)
    elif ord in (1, -1, math.inf, -math.inf):
        summed = x.abs().sum(rows if abs(ord) == 1 else columns, True)
        other = columns if abs(ord) == 1 else rows
        found = summed.amax(other, True) if ord > 0 else summed.amin(other, True)
        return found if keepdim else found.squeeze(max(rows, columns)).squeeze(min(rows, columns))
    else:
        raise refuse("matrix_norm", "fro, nuc, 1, -1, 2, -2, inf or -inf", repr(ord))
    if keepdim:
        for axis in sorted((rows, columns)):
            found = found.unsqueeze(axis)
    return found


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):  # noqa: A002
    """vector_norm() of all values or along one axis, matrix_norm() along two."""
    two = isinstance(dim, (tuple, list)) and len(dim) == 2
    if ord is not None and (two or dim is None and A.ndim == 2):
        return matrix_norm(A, ord, dim or (-2, -1), keepdim, dtype=dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices."""
    return A.diagonal(offset, dim1, dim2)


def vander(x, *, N=None):
    """Powers of each value as rows, ascending."""
    from weft._names.creation import vander as powers

    return powers(x, N, True)
