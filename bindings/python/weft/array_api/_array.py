"""Array: the standard's array object around a Tensor of Weft."""
import weft

from . import _dtypes
from ._dtypes import promote, scalar_dtype

API_VERSION = "2023.12"


def check_device(device):
    if device not in (None, "cpu"):
        raise ValueError(f'expected the device "cpu", got {device!r}')


class Array:
    """Made by the functions of the namespace; `_tensor` is its memory."""

    __slots__ = ("_tensor",)
    # NumPy's arrays leave arithmetic with these to them.
    __array_ufunc__ = None

    def __init__(self, tensor):
        _dtypes.kind_of(tensor.dtype)
        self._tensor = tensor

    # --- Attributes.

    dtype = property(lambda self: self._tensor.dtype)
    device = property(lambda self: "cpu")
    ndim = property(lambda self: self._tensor.ndim)
    shape = property(lambda self: tuple(self._tensor.shape))
    size = property(lambda self: self._tensor.numel())

    @property
    def T(self):
        if self.ndim != 2:
            raise ValueError(f"T: expected 2 axes, got {self.ndim}; use permute_dims()")
        return Array(self._tensor.transpose(0, 1))

    @property
    def mT(self):
        if self.ndim < 2:
            raise ValueError(f"mT: expected at least 2 axes, got {self.ndim}")
        return Array(self._tensor.transpose(-2, -1))

    # --- Conversions.

    def __array_namespace__(self, *, api_version=None):
        if api_version not in (None, "2021.12", "2022.12", API_VERSION):
            raise ValueError(f"expected a version up to {API_VERSION}, got {api_version!r}")
        import weft.array_api
        return weft.array_api

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None or dl_device not in (None, (1, 0)):
            raise ValueError("__dlpack__: expected no stream and the CPU")
        return (self._tensor.clone() if copy else self._tensor).__dlpack__()

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()

    def to_device(self, device, /, *, stream=None):
        check_device(device)
        if stream is not None:
            raise ValueError("to_device: expected no stream")
        return self

    def _number(self):
        if self.ndim != 0:
            raise TypeError(f"expected an array without axes, got the shape {self.shape}")
        return self._tensor.item()

    def __bool__(self):
        return bool(self._number())

    def __int__(self):
        return int(self._number())

    def __float__(self):
        return float(self._number())

    def __complex__(self):
        return complex(self._number())

    def __index__(self):
        if self.dtype not in _dtypes.INTEGRAL:
            raise TypeError(f"expected whole numbers as an index, got {self.dtype!r}")
        return self._number()

    def __repr__(self):
        return f"Array({self._tensor.tolist()}, dtype={self.dtype.name})"

    # --- Places.

    def _key(self, key):
        parts = key if isinstance(key, tuple) else (key,)
        masks = [part for part in parts if isinstance(part, Array)
                 and part.dtype is _dtypes.bool]
        if masks:
            if len(parts) > 1:
                raise IndexError("a bool array is to be the only index")
            return masks[0]._tensor
        plain = []
        for part in parts:
            if isinstance(part, Array):
                part = part.__index__()
            if isinstance(part, bool) or not (part is None or part is Ellipsis
                                              or isinstance(part, (int, slice))):
                raise IndexError(f"expected numbers, slices, None, ... or a bool array, got "
                                 f"{type(part).__name__}")
            plain.append(part)
        given = sum(isinstance(part, (int, slice)) for part in plain)
        if plain.count(Ellipsis) > 1 or given > self.ndim:
            raise IndexError(f"too many indices for the shape {self.shape}")
        if given < self.ndim and Ellipsis not in plain:
            raise IndexError(f"expected an index for each axis of {self.shape}, or ...")
        return tuple(plain)

    def __getitem__(self, key, /):
        return Array(self._tensor[self._key(key)])

    def __setitem__(self, key, value, /):
        if isinstance(value, Array):
            if promote(self.dtype, value.dtype) != self.dtype:
                raise TypeError(f"an array of {self.dtype!r} cannot take {value.dtype!r}")
            value = value._tensor._cast(self.dtype)
        else:
            scalar_dtype(value, self.dtype)
            value = weft.full((), value, dtype=self.dtype)
        self._tensor[self._key(key)] = value

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    __hash__ = None


def tensor_of(x):
    """The Tensor of an Array; TypeError for anything else."""
    if not isinstance(x, Array):
        raise TypeError(f"expected an array of weft.array_api, got {type(x).__name__}")
    return x._tensor


def of_kind(x, dtypes, name):
    """tensor_of(x), whose type is one of `dtypes`."""
    tensor = tensor_of(x)
    if tensor.dtype not in dtypes:
        raise TypeError(f"{name}: expected one of {[dtype.name for dtype in dtypes]}, got "
                        f"{tensor.dtype.name}")
    return tensor


def operands(x1, x2, dtypes, name):
    """Both as Tensors of the type they make; one may be a Python number."""
    if not isinstance(x1, Array) and not isinstance(x2, Array):
        raise TypeError(f"{name}: expected an array among the operands")
    if not isinstance(x1, Array):
        dtype = scalar_dtype(x1, x2.dtype)
    elif not isinstance(x2, Array):
        dtype = scalar_dtype(x2, x1.dtype)
    else:
        dtype = promote(x1.dtype, x2.dtype)
    if dtype not in dtypes:
        raise TypeError(f"{name}: expected one of {[each.name for each in dtypes]}, got "
                        f"{dtype.name}")
    return tuple(x._tensor._cast(dtype) if isinstance(x, Array)
                 else weft.full((), x, dtype=dtype) for x in (x1, x2))
