"""Methods of Tensor that are written in Python: what meets NumPy, and copies to other types."""
from weft import _core

Tensor = _core.Tensor


def numpy(self):
    """A NumPy array on the same memory, which it keeps alive."""
    import numpy as np  # here, so that importing weft does not wait for it

    if self.requires_grad:
        raise _core.InvalidArgumentError(
            "[numpy] the tensor requires grad: use tensor.detach().numpy()")
    if self.dtype is _core.bfloat16:
        raise TypeError("NumPy has no bfloat16: use tensor.float().numpy()")
    return np.asarray(self._strided())


def __array__(self, dtype=None):
    array = self.numpy()
    return array if dtype is None else array.astype(dtype)


def __dlpack__(self, *, stream=None):
    """A DLPack capsule on the same memory; `stream` has no meaning on a CPU."""
    return _core._to_dlpack(self)


def __dlpack_device__(self):
    return (1, 0)


def install():
    for function in (numpy, __array__, __dlpack__, __dlpack_device__):
        setattr(Tensor, function.__name__, function)
    # NumPy's arrays leave arithmetic with tensors to the tensors.
    Tensor.__array_ufunc__ = None
    Tensor.__array_priority__ = 1000


install()
