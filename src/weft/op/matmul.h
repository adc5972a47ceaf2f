// matmul: products of matrices.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft {

// [..., m, k] x [..., k, n] -> [..., m, n]; leading axes broadcast. A vector on the left is a row,
// on the right a column, and its axis is dropped again. Types are promoted; integers wrap around,
// bool is refused. Throws std::invalid_argument on shapes that do not fit.
Tensor matmul(const Tensor& a, const Tensor& b);

}  // namespace weft
