"""weft.array_api: the Python array API standard, 2023.12, over Weft's tensors.

    import weft.array_api as xp
    x = xp.linspace(0, 1, 5)
    xp.sum(x * x, axis=0)

It is strict as the standard is: types of different kinds do not mix, and arrays are indexed by an
index for each axis. docs/array_api.md says of every function of the standard whether it is there.

Threads: as tensors. Failures: TypeError for a type that the standard does not allow, ValueError for
shapes, IndexError for axes and indices out of range.
"""
import math as _math

from . import linalg
from ._array import API_VERSION as __array_api_version__
from ._array import Array
from ._creation import (arange, asarray, astype, can_cast, empty, empty_like, eye, finfo,
                        from_dlpack, full, full_like, iinfo, isdtype, linspace, meshgrid, ones,
                        ones_like, result_type, tril, triu, zeros, zeros_like)
from ._dtypes import bool, float32, float64, int8, int32, int64, uint8
from ._elementwise import (abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bitwise_and,
                           bitwise_invert, bitwise_left_shift, bitwise_or, bitwise_right_shift,
                           bitwise_xor, ceil, clip, copysign, cos, cosh, divide, equal, exp, expm1,
                           floor, floor_divide, greater, greater_equal, hypot, isfinite, isinf,
                           isnan, less, less_equal, log, log1p, log2, log10, logaddexp, logical_and,
                           logical_not, logical_or, logical_xor, maximum, minimum, multiply,
                           negative, not_equal, positive, pow, remainder, round, sign, signbit, sin,
                           sinh, sqrt, square, subtract, tan, tanh, trunc)
from ._info import __array_namespace_info__
from ._manipulation import (argmax, argmin, argsort, broadcast_arrays, broadcast_to, concat,
                            expand_dims, flip, moveaxis, nonzero, permute_dims, repeat, reshape,
                            roll, searchsorted, sort, squeeze, stack, take, tile, unique_all,
                            unique_counts, unique_inverse, unique_values, unstack, where)
from ._reductions import (all, any, cumulative_sum, matmul, matrix_transpose, max, mean, min, prod,
                          std, sum, tensordot, var, vecdot)

e, inf, nan, pi = _math.e, _math.inf, _math.nan, _math.pi
newaxis = None


def _matmul_operator(self, other, /):
    return matmul(self, other) if isinstance(other, Array) else NotImplemented


Array.__matmul__ = _matmul_operator
