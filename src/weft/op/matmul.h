// matmul: products of matrices.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft {

// [..., m, k] x [..., k, n] -> [..., m, n]; leading axes broadcast. Both at least 2-D, of one
// floating type. Throws std::invalid_argument otherwise.
Tensor matmul(const Tensor& a, const Tensor& b);

}  // namespace weft
