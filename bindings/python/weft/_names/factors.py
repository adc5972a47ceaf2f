"""Triangles and factors of matrices: solve_triangular(), lu(), matrix_exp() and what is made of them;
weft.linalg has most of these, too."""
import math as _math

from weft import _core
from weft._names._table import method as _method, recorded as _recorded
from weft._names._table import refuse as _refuse, require_tensor as _require_tensor

_types = _core._return_types


def _matrices(name, x, square=False, argument="A"):
    _require_tensor(name, x, argument)
    if x.ndim < 2 or not x.is_floating_point():
        raise _refuse(name, f"{argument} as floating matrices [..., m, n]",
                      f"{x.dtype} of shape {list(x.shape)}")
    if square and x.shape[-1] != x.shape[-2]:
        raise _refuse(name, f"{argument} as square matrices", f"shape {list(x.shape)}")
    return x


def _linalg():
    from weft import linalg

    return linalg


def _solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """X with A X = B, or X A = B if not `left`, of which A's other triangle is not read."""
    _matrices("solve_triangular", A, True)
    _matrices("solve_triangular", B, argument="B")
    half = A.triu(int(unitriangular)) if upper else A.tril(-int(unitriangular))
    if unitriangular:
        half = half + _core.eye(A.shape[-1], dtype=A.dtype)
    return _linalg().solve(half, B, left=left)


@_method
def triangular_solve(input, A, upper=True, transpose=False, unitriangular=False):  # noqa: A002
    """(X with A X = input, A): linalg.solve_triangular() in another order."""
    _matrices("triangular_solve", A, True)
    given = A.mT if transpose else A
    found = _solve_triangular(given, input, upper=bool(upper) != bool(transpose),
                              unitriangular=unitriangular)
    return _types["triangular_solve"]((found, A.clone()))


@_method
def cholesky_solve(input, input2, upper=False):  # noqa: A002
    """X with A X = input, where input2 is a triangle of cholesky(A)."""
    _matrices("cholesky_solve", input2, True, "input2")
    lower = input2.mT if upper else input2
    half = _solve_triangular(lower, input, upper=False)
    return _solve_triangular(lower.mT, half, upper=True)


@_method
def cholesky_inverse(input, upper=False):  # noqa: A002
    """The inverse of A, of which `input` is a triangle of cholesky(A)."""
    _matrices("cholesky_inverse", input, True, "input")
    identity = _core.eye(input.shape[-1], dtype=input.dtype).expand(*input.shape)
    return cholesky_solve(identity, input, upper)


def _exchanged(pivots, rows):
    """[..., rows]: which row comes to each place by the exchanges, counted from 0."""
    order = _core.arange(rows).expand(*pivots.shape[:-1], rows).contiguous()
    for step in range(pivots.shape[-1]):
        other = pivots.narrow(-1, step, 1)
        here, there = order.narrow(-1, step, 1).clone(), order.gather(-1, other)
        order = order.scatter(-1, other, here)
        order = _core.cat([order.narrow(-1, 0, step), there,
                           order.narrow(-1, step + 1, rows - step - 1)], -1)
    return order


def _permutation(order, dtype):
    """P with (P x)[order[i]] = x[i]."""
    identity = _core.eye(order.shape[-1], dtype=dtype)
    return identity[order].mT


def _slopes_of_lu(gradient, x, order, packed):
    """The slope of square matrices from that of L and U, packed into one: Murray, "Differentiation
    of the Cholesky decomposition", 2016, has the idea."""
    lower, upper = _halves(packed)
    inside = (lower.mT @ gradient.tril(-1)).tril(-1) + (gradient.triu() @ upper.mT).triu()
    solved = _solve_triangular(lower.mT, inside, upper=True)
    found = _solve_triangular(upper.mT, solved, upper=False, left=False)
    return [_permutation(order, x.dtype) @ found]


def _halves(packed):
    k = min(packed.shape[-2:])
    lower = packed[..., :k].tril(-1) + _core.eye(packed.shape[-2], k, dtype=packed.dtype)
    return lower, packed[..., :k, :].triu()


def _factored(name, A):
    """(L and U in one matrix, the exchanges from 0 on)."""
    x = _matrices(name, A)
    flat, exchanges = _core._lu(x.detach().double().reshape(-1, *x.shape[-2:]).contiguous())
    packed = flat.to(x.dtype).reshape(tuple(x.shape))
    pivots = exchanges.reshape(*x.shape[:-2], exchanges.shape[-1])
    if x.requires_grad and _core.is_grad_enabled() and x.shape[-1] != x.shape[-2]:
        raise _refuse(name, "square matrices where they require grad: take .detach()",
                      f"shape {list(x.shape)}")
    order = _exchanged(pivots, x.shape[-2])
    return _recorded(name, packed, [x], lambda dy, saved: _slopes_of_lu(
        dy, saved, order, packed)), pivots


def _lu_factor(A, *, pivot=True):
    """(LU, pivots): L below the diagonal, where it is 1, and U; row i was exchanged with row
    pivots[i], counted from 1, in this order."""
    _with_pivots("lu_factor", pivot)
    packed, pivots = _factored("lu_factor", A)
    return _types["linalg_lu_factor"]((packed, (pivots + 1).int()))


def _with_pivots(name, pivot):
    if not pivot:
        raise _refuse(name, "pivot=True: rows are exchanged", pivot)


def _lu(A, *, pivot=True):
    """(P, L, U) with A = P L U."""
    _with_pivots("lu", pivot)
    packed, pivots = _factored("lu", A)
    lower, upper = _halves(packed)
    return _types["linalg_lu"]((_permutation(_exchanged(pivots, A.shape[-2]), A.dtype), lower, upper))


@_method
def lu(input, pivot=True, get_infos=False):  # noqa: A002
    """linalg.lu_factor(), with zeros behind it if get_infos."""
    found = tuple(_lu_factor(input, pivot=pivot))
    return (*found, _core.zeros(tuple(input.shape[:-2]), dtype=_core.int32)) if get_infos else found


def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """(P, L, U) of what linalg.lu_factor() gives."""
    lower, upper = _halves(_matrices("lu_unpack", LU_data, argument="LU_data"))
    order = _exchanged(LU_pivots.long() - 1, LU_data.shape[-2])
    return _types["linalg_lu"]((_permutation(order, LU_data.dtype), lower, upper))


def _lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """X with A X = B, or X A = B if not `left`, where (LU, pivots) is lu_factor(A); adjoint: of the
    transposed A."""
    lower, upper = _halves(_matrices("lu_solve", LU, True, "LU"))
    whole = _permutation(_exchanged(pivots.long() - 1, LU.shape[-2]), LU.dtype)
    if adjoint != (not left):  # A^T = U^T L^T P^T
        right = B if left else B.mT
        half = _solve_triangular(upper.mT, right, upper=False)
        found = whole @ _solve_triangular(lower.mT, half, upper=True)
    else:
        right = B if left else B.mT
        half = _solve_triangular(lower, whole.mT @ right, upper=False)
        found = _solve_triangular(upper, half, upper=True)
    return found if left else found.mT


@_method
def lu_solve(b, LU_data, LU_pivots):
    """X with A X = b, where (LU_data, LU_pivots) is linalg.lu_factor(A)."""
    return _lu_solve(LU_data, LU_pivots, b)


@_method
def matrix_exp(input):  # noqa: A002
    """The sum of powers A^k / k! of square matrices: of A / 2^s, squared s times."""
    x = _matrices("matrix_exp", input, True, "input")
    n = x.shape[-1]
    if x.numel() == 0:
        return x.clone()
    every = x.detach()
    while hasattr(every, "_value"):  # within vmap() one bound for all samples
        every = every._value
    size = every.double().abs().sum(-1).max().item()
    if not _math.isfinite(size):
        raise _refuse("matrix_exp", "finite values", "others")
    squarings = max(0, _math.ceil(_math.log2(size)) + 1) if size > 0 else 0
    small = x.double() / 2.0 ** squarings  # of norm 1/2 at most: 1/2^18 / 18! is below 1e-21
    identity = _core.eye(n, dtype=_core.float64)
    found = identity + small / 17
    for k in range(16, 0, -1):
        found = identity + small @ found / k
    for _ in range(squarings):
        found = found @ found
    return found.to(x.dtype)


def svd_lowrank(A, q=6, niter=2, M=None):
    """(U, S, V) of the `q` largest singular values of A, or of A - M; of all of them, not by
    random products, so that `niter` has no meaning."""
    x = _matrices("svd_lowrank", A if M is None else A - M)
    if not 0 <= q <= min(x.shape[-2:]):
        raise _refuse("svd_lowrank", f"q in [0, {min(x.shape[-2:])}]", q)
    u, s, vh = _linalg().svd(x, False)
    return _types["svd"]((u[..., :q], s[..., :q], vh.mT[..., :q]))


def pca_lowrank(A, q=None, center=True, niter=2):
    """svd_lowrank() of A less the mean of its rows."""
    x = _matrices("pca_lowrank", A)
    count = min(6, *x.shape[-2:]) if q is None else q
    return svd_lowrank(x - x.mean(-2, True) if center else x, count)


def frobenius_norm(input, dim=None, keepdim=False):  # noqa: A002
    """The root of the sum of squares."""
    return _require_tensor("frobenius_norm", input).norm(2, dim, keepdim)


def nuclear_norm(input, dim=(-2, -1), keepdim=False):  # noqa: A002
    """The sum of the singular values."""
    return _linalg().matrix_norm(input, "nuc", dim, keepdim)


def _whole(info_of, x):
    return _core.tensor(info_of, dtype=_core.int32).reshape(tuple(x.shape[:-2]))


def _first_minor(matrix):
    """0, or the order of the first leading part that is not positive definite."""
    for order in range(1, matrix.shape[-1] + 1):
        try:
            _core._cholesky(matrix[:order, :order].unsqueeze(0).contiguous())
        except _core.InvalidArgumentError:
            return order
    return 0


def _cholesky_ex(A, *, upper=False, check_errors=False):
    """(L, info): linalg.cholesky(), and for each matrix 0, or the order of the first leading part
    that is not positive definite; L is 0 for such a matrix."""
    x = _matrices("cholesky_ex", A, True)
    flat = x.detach().double().reshape(-1, *x.shape[-2:])
    info = _whole([_first_minor(each) for each in flat], x)
    if check_errors or not bool(info.any()):
        return _types["linalg_cholesky_ex"]((_linalg().cholesky(x, upper=upper), info))
    fine = (info == 0)[..., None, None]
    identity = _core.eye(x.shape[-1], dtype=x.dtype)
    found = _linalg().cholesky(_core.where(fine, x, identity), upper=upper)
    return _types["linalg_cholesky_ex"]((_core.where(fine, found, 0.0), info))


def _inv_ex(A, *, check_errors=False):
    """(inverse, info): linalg.inv(), and for each matrix 0, or 1 if it is singular; the inverse is 0
    for such a matrix."""
    x = _matrices("inv_ex", A, True)
    packed = _factored("inv_ex", x.detach())[0]
    zero = packed.diagonal(0, -2, -1) == 0
    info = _core.where(zero.any(-1), zero.int().argmax(-1) + 1, 0).int()
    if check_errors or not bool(info.any()):
        return _types["linalg_inv_ex"]((_linalg().inv(x), info))
    fine = (info == 0)[..., None, None]
    found = _linalg().inv(_core.where(fine, x, _core.eye(x.shape[-1], dtype=x.dtype)))
    return _types["linalg_inv_ex"]((_core.where(fine, found, 0.0), info))


def _vecdot(x, y, *, dim=-1):
    """The sums of products along one axis."""
    return (_require_tensor("vecdot", x, "x") * _require_tensor("vecdot", y, "y")).sum(dim)


def _tensorinv(A, ind=2):
    """The inverse of what tensordot(A, x, ind) does to x of the shape A.shape[ind:]."""
    _require_tensor("tensorinv", A, "A")
    if not hasattr(ind, "__index__") or ind < 1:
        raise _refuse("tensorinv", "ind of at least 1", ind)
    ahead, behind = A.shape[:ind], A.shape[ind:]
    if ahead.numel() != behind.numel():
        raise _refuse("tensorinv", "as many values in the axes before `ind` as from it on",
                      f"shape {list(A.shape)} and ind={ind}")
    return _linalg().inv(A.reshape(ahead.numel(), -1)).reshape(*behind, *ahead)


def _tensorsolve(A, B, dims=None):
    """X with tensordot(A, X, X.ndim) = B; the axes `dims` of A come last first."""
    _require_tensor("tensorsolve", A, "A")
    _require_tensor("tensorsolve", B, "B")
    moved = A if dims is None else A.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    shape = moved.shape[B.ndim:]
    if shape.numel() != B.numel() or moved.numel() != B.numel() ** 2:
        raise _refuse("tensorsolve", f"A of shape {list(B.shape)} + a shape of {B.numel()} values",
                      list(moved.shape))
    return _linalg().solve(moved.reshape(B.numel(), -1), B.flatten()).reshape(*shape)
