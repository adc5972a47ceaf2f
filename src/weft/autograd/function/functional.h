// Derivatives of functions, rather than of graphs: Jacobians, Hessians and products with them.
//
// Each takes a function of Tensors and the point as Arrays (floating types), and makes its own
// graph. jvp() differentiates backward twice (v -> J^T v is linear, and its transpose is J), so the
// operations need second gradients, as they do for hvp and hessian.
// Threads: as backward().
// Fails: std::invalid_argument if shapes do not fit or an operation has no second gradient.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "weft/autograd/tensor.h"

namespace weft {

using TensorFunction = std::function<Tensor(std::span<const Tensor>)>;

// For each input an Array of shape [output..., input...]; zeros where the output does not depend.
std::vector<Array> jacobian(const TensorFunction& function, std::span<const Array> inputs);
// The Hessian of a function with one element: [i][j] has the shape [input i..., input j...].
std::vector<std::vector<Array>> hessian(const TensorFunction& function,
                                        std::span<const Array> inputs);

struct Product {
  Array value;                  // of the function
  std::vector<Array> products;  // see the functions
};
// v^T J for each input; `v` has the output's shape.
Product vjp(const TensorFunction& function, std::span<const Array> inputs, const Array& v);
// J v, one product of the output's shape; `v` has the inputs' shapes.
Product jvp(const TensorFunction& function, std::span<const Array> inputs,
            std::span<const Array> v);
// H v for each input, of a function with one element.
Product hvp(const TensorFunction& function, std::span<const Array> inputs,
            std::span<const Array> v);

}  // namespace weft
