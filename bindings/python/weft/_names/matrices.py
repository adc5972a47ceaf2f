"""The functions of weft.linalg that are weft.NAME as well, read when the first is called."""
from weft import _core
from weft._names._table import method as _method


def _linalg(name):
    from weft import linalg

    return getattr(linalg, name)


@_method
def inverse(input):  # noqa: A002
    """linalg.inv()."""
    return _linalg("inv")(input)


@_method
def det(input):  # noqa: A002
    """linalg.det()."""
    return _linalg("det")(input)


@_method
def logdet(input):  # noqa: A002
    """The logarithm of the determinants; NaN where they are negative."""
    sign, log = _linalg("slogdet")(input)
    return _core.where(sign < 0, float("nan"), log)


@_method
def slogdet(input):  # noqa: A002
    """linalg.slogdet()."""
    return _core._return_types["slogdet"](_linalg("slogdet")(input))


@_method
def cholesky(input, upper=False):  # noqa: A002
    """linalg.cholesky()."""
    return _linalg("cholesky")(input, upper=upper)


@_method
def pinverse(input, rcond=1e-15):  # noqa: A002
    """linalg.pinv()."""
    return _linalg("pinv")(input, rcond)


@_method
def qr(input, some=True):  # noqa: A002
    """linalg.qr()."""
    return _core._return_types["qr"](_linalg("qr")(input, "reduced" if some else "complete"))


@_method
def svd(input, some=True, compute_uv=True):  # noqa: A002
    """(U, S, V) with input = U diag(S) V^T; linalg.svd() gives V transposed."""
    u, s, vh = _linalg("svd")(input, not some)
    if not compute_uv:
        u, vh = _core.zeros_like(u), _core.zeros_like(vh)
    return _core._return_types["svd"]((u, s, vh.mT))
