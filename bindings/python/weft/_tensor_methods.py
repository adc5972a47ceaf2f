"""Methods of Tensor that are written in Python: what meets NumPy, other types, and copies."""
from weft import _core
from weft._device import cpu_device, device

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


def __array__(self, dtype=None, copy=None):
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("another type cannot be had without a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule (of version 0, which every consumer takes) on the same memory, or on a copy
    of it; `stream` has no meaning on a CPU."""
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError(f"expected the CPU, (1, 0), got {tuple(dl_device)}")
    return _core._to_dlpack(self.clone() if copy else self)


def __dlpack_device__(self):
    return (1, 0)


def to(self, *args, dtype=None, device=None, copy=False, non_blocking=False):
    """The values in another type; to(dtype), to(device), to(device, dtype) and to(tensor)."""
    for argument in args:
        if isinstance(argument, _core.dtype) or argument in (float, int, bool):
            dtype = argument
        elif isinstance(argument, Tensor):
            dtype = argument.dtype
        else:
            device = argument
    if device is not None:
        cpu_device(device)
    result = self if dtype is None or dtype is self.dtype else self._cast(dtype)
    return result.clone() if copy and result is self else result


def type_as(self, other):
    """The values in the type of `other`."""
    if not isinstance(other, Tensor):
        raise TypeError(f"expected a weft.Tensor, got {type(other)}")
    return self._cast(other.dtype)


def _cast_method(name, dtype):
    def method(self):
        return self._cast(dtype)

    method.__name__ = name
    method.__doc__ = f"The values as {dtype!r}."
    return method


def cpu(self):
    """Itself: the CPU is where tensors are."""
    return self


def cuda(self, device=None):
    """Raises: this build computes on the CPU."""
    cpu_device("cuda" if device is None else device)


def detach_(self):
    """Forgets the history; returns the tensor."""
    self._assign(self.detach())
    return self


def _copying(name):
    """x.NAME_(...): x.NAME(...), written into x."""

    def method(self, *args, **kwargs):
        # What the gradient needs of the old values is not what is written over.
        old = self.clone() if self.requires_grad and _core.is_grad_enabled() else self
        return self.copy_(getattr(old, name)(*args, **kwargs))

    method.__name__ = name + "_"
    method.__doc__ = f"{name}(), written in place."
    return method


def new_tensor(self, data, *, dtype=None, requires_grad=False):
    """weft.tensor() of this tensor's type."""
    return _core.tensor(data, dtype=self.dtype if dtype is None else dtype,
                        requires_grad=requires_grad)


def new_zeros(self, *size, dtype=None, requires_grad=False):
    """weft.zeros() of this tensor's type."""
    return _core.zeros(*size, dtype=self.dtype if dtype is None else dtype,
                       requires_grad=requires_grad)


def new_ones(self, *size, dtype=None, requires_grad=False):
    """weft.ones() of this tensor's type."""
    return _core.ones(*size, dtype=self.dtype if dtype is None else dtype,
                      requires_grad=requires_grad)



def __deepcopy__(self, memo):
    copied = type(self)(self.detach().clone(), self.requires_grad)
    memo[id(self)] = copied
    return copied


def __reduce__(self):
    plain = self.detach().contiguous()
    if plain.dtype is _core.bfloat16:  # widening loses nothing, and the way back neither
        plain = plain._cast(_core.float32)
    return (_rebuild, (type(self), bytes(memoryview(plain)), tuple(self.shape), plain.dtype,
                       self.dtype, self.requires_grad))


def _rebuild(cls, data, shape, stored, dtype, requires_grad):
    letters = {"float32": "f", "float64": "d", "float16": "e", "int64": "q", "int32": "i",
               "int8": "b", "uint8": "B", "bool": "?"}
    if 0 in shape:
        return cls(_core.zeros(shape, dtype=dtype), requires_grad)
    view = memoryview(data).cast(letters[stored.name], shape) if shape else memoryview(data).cast(
        letters[stored.name])
    values = _core.tensor(view)._cast(dtype)
    return cls(values if shape else values.reshape(()), requires_grad)


def install():
    functions = (numpy, __array__, __dlpack__, __dlpack_device__, to, type_as, cpu, cuda, detach_,
                 new_tensor, new_zeros, new_ones, __deepcopy__, __reduce__)
    for function in functions:
        setattr(Tensor, function.__name__, function)
    casts = {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16",
             "long": "int64", "int": "int32", "bool": "bool"}
    for name, dtype in casts.items():
        setattr(Tensor, name, _cast_method(name, getattr(_core, dtype)))
    for name in ("div", "clamp", "relu", "sqrt", "exp", "masked_fill", "pow", "neg", "scatter",
                 "scatter_add", "index_add", "index_copy", "tril", "triu", "sigmoid", "tanh"):
        setattr(Tensor, name + "_", _copying(name))
    Tensor.device = property(lambda self: device("cpu"), doc="Where the values are: the CPU.")
    Tensor.T = property(lambda self: self.permute(*reversed(range(self.ndim))),
                        doc="The axes in the opposite order.")
    Tensor.mT = property(lambda self: self.transpose(-2, -1), doc="The last two axes swapped.")
    # NumPy's arrays leave arithmetic with tensors to the tensors.
    Tensor.__array_ufunc__ = None
    Tensor.__array_priority__ = 1000


install()
