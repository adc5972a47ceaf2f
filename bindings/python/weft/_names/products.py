"""Products of matrices and vectors, made of matmul()."""
import operator as _operator

from weft import _core
from weft._names._table import Tensor as _Tensor, axes_in as _axes_in, method as _method
from weft._names._table import refuse as _refuse, require_tensor as _require_tensor


def _ranks(name, **tensors):
    """Raises unless each tensor has the number of axes that is given beside it."""
    for argument, (tensor, ndim) in tensors.items():
        if _require_tensor(name, tensor, argument).ndim != ndim:
            raise _refuse(name, f"{argument} of {ndim} axes", f"shape {list(tensor.shape)}")


def _blended(input, product, beta, alpha):  # noqa: A002
    scaled = product if alpha == 1 else product * alpha
    if beta == 1:
        return scaled + input
    # With beta 0 not even a NaN of the input counts.
    return scaled + scaled * 0 if beta == 0 else input * beta + scaled


def _check_fits(name, input, product):  # noqa: A002
    try:
        input.expand(*product.shape)
    except _core.Error:
        raise _refuse(name, f"input that broadcasts to {list(product.shape)}",
                      list(input.shape)) from None


def _add_product(name, ranks, text):
    rank_of_first, rank_of_second = ranks
    multiply = _core.outer if name == "addr" else _operator.matmul

    def function(input, first, second, *, beta=1, alpha=1):  # noqa: A002
        if not (isinstance(first, _Tensor) and first.ndim == rank_of_first
                and isinstance(second, _Tensor) and second.ndim == rank_of_second):
            _ranks(name, first=(first, rank_of_first), second=(second, rank_of_second))
        product = multiply(first, second)
        if not (isinstance(input, _Tensor) and input.shape == product.shape):
            _check_fits(name, _require_tensor(name, input), product)
        if beta == 1 and alpha == 1:
            return product + input
        return _blended(input, product, beta, alpha)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    setattr(_Tensor, name, function)  # without named(): these are checked above
    return function


addmm = _add_product("addmm", (2, 2), "beta * input + alpha * (first @ second).")
addmv = _add_product("addmv", (2, 1), "beta * input + alpha * (matrix @ vector).")
baddbmm = _add_product("baddbmm", (3, 3), "addmm() of each pair of matrices.")
addr = _add_product("addr", (1, 1), "beta * input + alpha * outer(first, second).")


@_method
def addbmm(input, batch1, batch2, *, beta=1, alpha=1):  # noqa: A002
    """beta * input + alpha * the sum of the products of each pair of matrices."""
    _ranks("addbmm", batch1=(batch1, 3), batch2=(batch2, 3))
    return _blended(input, (batch1 @ batch2).sum(0), beta, alpha)


@_method
def vdot(input, other):  # noqa: A002
    """dot()."""
    return _core.dot(input, other)


@_method
def inner(input, other):  # noqa: A002
    """The sums of products over the last axis of both."""
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    return tensordot(input, other, ([-1], [-1]))


@_method
def ger(input, vec2):  # noqa: A002
    """outer()."""
    return _core.outer(input, vec2)


def tensordot(a, b, dims=2):
    """The sum of products over axes: the last `dims` of a and the first of b, or lists of axes."""
    if isinstance(dims, _Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise _refuse("tensordot", f"dims in [0, {min(a.ndim, b.ndim)}]", dims)
        of_a, of_b = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        of_a, of_b = (_axes_in("tensordot", each, x.ndim) for each, x in zip(dims, (a, b)))
    lengths = [a.shape[axis] for axis in of_a]
    if lengths != [b.shape[axis] for axis in of_b]:
        raise _refuse("tensordot", "axes of one length", f"{lengths} and "
                      f"{[b.shape[axis] for axis in of_b]}")
    free_a, free_b = ([i for i in range(x.ndim) if i not in axes]
                      for x, axes in ((a, of_a), (b, of_b)))
    size = 1
    for length in lengths:
        size *= length
    shape = [a.shape[i] for i in free_a] + [b.shape[i] for i in free_b]
    rows = a.permute(*free_a, *of_a) if a.ndim else a
    columns = b.permute(*of_b, *free_b) if b.ndim else b
    height = _core.Size([a.shape[i] for i in free_a]).numel()
    width = _core.Size([b.shape[i] for i in free_b]).numel()
    return (rows.reshape(height, size) @ columns.reshape(size, width)).reshape(shape)


@_method
def kron(input, other):  # noqa: A002
    """Each value of input times the whole of other."""
    ndim = max(input.ndim, other.ndim)
    one = input.reshape([1] * (ndim - input.ndim) + list(input.shape))
    two = other.reshape([1] * (ndim - other.ndim) + list(other.shape))
    spread = one.reshape([n for length in one.shape for n in (length, 1)])
    product = spread * two.reshape([n for length in two.shape for n in (1, length)])
    return product.reshape([m * n for m, n in zip(one.shape, two.shape)])


@_method
def cross(input, other, dim=None):  # noqa: A002
    """The cross product of vectors of three values along `dim`."""
    from weft._names.shapes import broadcast_tensors

    a, b = broadcast_tensors(input, other)
    if dim is None:
        dim = next((i for i, length in enumerate(a.shape) if length == 3), None)
    if dim is None or a.shape[dim] != 3:
        raise _refuse("cross", "an axis of length 3", f"shape {list(a.shape)}, dim {dim}")
    x, y = a.unbind(dim), b.unbind(dim)
    return _core.stack([x[i - 2] * y[i - 1] - x[i - 1] * y[i - 2] for i in range(3)],
                       dim % a.ndim)


def cdist(x1, x2, p=2.0, compute_mode=None):
    """The norms of the differences of all rows of x1 and of x2."""
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise _refuse("cdist", "[..., m, k] and [..., n, k]",
                      f"shapes {list(x1.shape)} and {list(x2.shape)}")
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The norm of x1 - x2 + eps along the last axis."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def pdist(input, p=2):  # noqa: A002
    """cdist() of each pair of rows, once."""
    places = [(i, j) for i in range(input.shape[0]) for j in range(i + 1, input.shape[0])]
    if not places:
        return input.new_zeros(0)
    first, second = (_core.tensor(each) for each in zip(*places))
    return (input[first] - input[second]).norm(p, -1)


@_method
def matrix_power(input, n):  # noqa: A002
    """input @ input @ ..., n times; the inverse's for n < 0."""
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise _refuse("matrix_power", "square matrices", f"shape {list(input.shape)}")
    if n < 0:
        from weft import linalg

        return matrix_power(linalg.inv(input), -n)
    found = None
    while n > 0:
        if n % 2:
            found = input if found is None else found @ input
        n //= 2
        input = input @ input if n else input  # noqa: A001
    return found if found is not None else _core.eye(
        input.shape[-1], dtype=input.dtype).expand(*input.shape).clone()


def chain_matmul(*matrices):
    """The product of matrices."""
    return multi_dot(matrices)


def multi_dot(matrices):
    """The product of matrices in the order that needs the fewest multiplications."""
    matrices = list(matrices)
    sizes = [matrices[0].shape[-2 if matrices[0].ndim > 1 else -1], *(
        each.shape[-1] for each in matrices)] if matrices[0].ndim > 1 else None
    if sizes is None or len(matrices) < 3:
        found = matrices[0]
        for each in matrices[1:]:
            found = found @ each
        return found
    # What a product costs is known before it is made: the cheapest of all splits, by length.
    count = len(matrices)
    cost = {(i, i): (0, None) for i in range(count)}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j] = min((cost[i, k][0] + cost[k + 1, j][0]
                              + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))

    def product(i, j):
        if i == j:
            return matrices[i]
        k = cost[i, j][1]
        return product(i, k) @ product(k + 1, j)

    return product(0, count - 1)
