"""weft.finfo and weft.iinfo: what a type of elements holds."""
from weft import _core

# bits, digits of the fraction, exponent of the largest, exponent of the smallest normal number.
_FLOATS = {"float16": (16, 10, 16, -14), "bfloat16": (16, 7, 128, -126),
           "float32": (32, 23, 128, -126), "float64": (64, 52, 1024, -1022)}
_WHOLE = {"uint8": (8, 0), "int8": (8, 1), "int32": (32, 1), "int64": (64, 1)}
_DIGITS = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-15}


class finfo:
    """The limits of a floating type: eps, max, min, tiny, resolution, bits."""

    def __init__(self, type=None):  # noqa: A002
        dtype = _core.get_default_dtype() if type is None else type
        if getattr(dtype, "name", None) not in _FLOATS:
            raise TypeError(f"finfo() expects a floating weft.dtype, got {dtype!r}: weft.iinfo() "
                            "has those of whole numbers")
        self.dtype = dtype.name
        self.bits, digits, high, low = _FLOATS[dtype.name]
        self.eps = 2.0 ** -digits
        # Not 2.0 ** high, which a float does not hold.
        self.max = (2.0 - self.eps) * 2.0 ** (high - 1)
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** low
        self.resolution = _DIGITS[dtype.name]

    def __repr__(self):
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
                f"eps={self.eps:g}, smallest_normal={self.tiny:g}, tiny={self.tiny:g}, "
                f"dtype={self.dtype})")


class iinfo:
    """The limits of a type of whole numbers: max, min, bits."""

    def __init__(self, type):  # noqa: A002
        if getattr(type, "name", None) not in _WHOLE:
            raise TypeError(f"iinfo() expects a weft.dtype of whole numbers, got {type!r}: "
                            "weft.finfo() has those of floats")
        self.dtype = type.name
        self.bits, signed = _WHOLE[type.name]
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -(2 ** (self.bits - 1)) if signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
