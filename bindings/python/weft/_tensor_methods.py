"""Methods of Tensor that are written in Python: what meets NumPy, other types, and copies."""
import operator

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


# NumPy's names of what operators do.
_OPERATORS = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv",
              "true_divide": "truediv", "floor_divide": "floordiv", "remainder": "mod",
              "power": "pow", "matmul": "matmul", "equal": "eq", "not_equal": "ne", "less": "lt",
              "less_equal": "le", "greater": "gt", "greater_equal": "ge", "bitwise_and": "and_",
              "bitwise_or": "or_", "bitwise_xor": "xor", "left_shift": "lshift",
              "right_shift": "rshift"}


def __array_ufunc__(self, function, kind, *inputs, **keywords):
    """A function of NumPy of tensors and arrays, as np.sin(x) and x + array: a tensor."""
    if kind != "__call__" or "out" in keywords:
        return NotImplemented
    own = _OPERATORS.get(function.__name__)
    if own is not None and not keywords:  # as tensors, through which gradients pass
        return getattr(operator, own)(*(each if isinstance(each, Tensor) else each.item() if getattr(
            each, "ndim", 1) == 0 else _core.asarray(each) for each in inputs))
    results = function(*(each.numpy() if isinstance(each, Tensor) else each for each in inputs),
                       **keywords)
    if isinstance(results, tuple):
        return tuple(_core.asarray(each) for each in results)
    return _core.asarray(results)


def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule (of version 0, which every consumer takes) on the same memory, or on a copy
    of it; `stream` has no meaning on a CPU."""
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError(f"expected the CPU, (1, 0), got {tuple(dl_device)}")
    return _core._to_dlpack(self.clone() if copy else self)


def __dlpack_device__(self):
    return (1, 0)


def to(self, *args, dtype=None, device=None, copy=False, non_blocking=False, other=None,
       memory_format=None):
    """The values in another type; to(dtype), to(device), to(device, dtype) and to(tensor)."""
    args = args if other is None else (*args, other)
    for argument in args:
        if isinstance(argument, bool):
            continue  # non_blocking and copy by position: values are new or the same either way
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
    def method(self, memory_format=None):
        return self._cast(dtype)

    method.__name__ = name
    method.__doc__ = f"The values as {dtype!r}."
    return method


def cpu(self, memory_format=None):
    """Itself: the CPU is where tensors are."""
    return self


def cuda(self, device=None, non_blocking=False, memory_format=None):
    """Raises: this build computes on the CPU."""
    cpu_device("cuda" if device is None else device)


def represented(self, *, tensor_contents=None):
    """The values as PyTorch prints them."""
    from weft._printing import tensor_text

    return tensor_text(self)


def detach_(self):
    """Forgets the history; returns the tensor."""
    self._assign(self.detach())
    return self


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """weft.tensor() of this tensor's type."""
    return _core.tensor(data, dtype=dtype or self.dtype, device=device,
                        requires_grad=requires_grad)


def new_full(self, size, fill_value, *, dtype=None, device=None, layout=None, pin_memory=False,
             requires_grad=False):
    """weft.full() of this tensor's type."""
    return _core.full(size, fill_value, dtype=dtype or self.dtype, device=device,
                      requires_grad=requires_grad)


def _new_method(name):
    make = getattr(_core, name)

    def method(self, *size, dtype=None, device=None, layout=None, pin_memory=False,
               requires_grad=False):
        return make(*size, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)

    method.__name__ = "new_" + name
    method.__doc__ = f"weft.{name}() of this tensor's type."
    return method


def new(self, *data):
    """An empty tensor of those sizes, or one of the values, in this tensor's type."""
    if len(data) == 1 and not isinstance(data[0], int):
        return _core.tensor(data[0], dtype=self.dtype)
    return _core.empty(*(data or (0,)), dtype=self.dtype)


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
    values = _core._from_bytes(data, stored)._cast(dtype)
    return cls(values.clone().reshape(shape), requires_grad)


def install():
    functions = (numpy, __array__, __array_ufunc__, __dlpack__, __dlpack_device__, to, type_as, cpu, cuda, detach_,
                 new_tensor, new_full, new, __deepcopy__, __reduce__)
    for function in functions:
        setattr(Tensor, function.__name__, function)
    casts = {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16",
             "long": "int64", "int": "int32", "bool": "bool"}
    for name, dtype in casts.items():
        setattr(Tensor, name, _cast_method(name, getattr(_core, dtype)))
    for name in ("zeros", "ones", "empty"):
        setattr(Tensor, "new_" + name, _new_method(name))
    Tensor.__repr__ = represented
    Tensor.device = property(lambda self: device("cpu"), doc="Where the values are: the CPU.")
    Tensor.__array_priority__ = 1000


install()
