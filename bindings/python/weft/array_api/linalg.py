"""The extension linalg: products and norms. Weft has no factorisations; docs/array_api.md."""
from ._reductions import (cross, diagonal, matmul, matrix_power, matrix_transpose, outer, tensordot,
                          trace, vecdot, vector_norm)

__all__ = ["cross", "diagonal", "matmul", "matrix_power", "matrix_transpose", "outer", "tensordot",
           "trace", "vecdot", "vector_norm"]
