// gradcheck(): compares the gradients of a function with central differences in f64. For tests.
//
// Every element of every input is moved by +-eps, which costs 2 n forward passes: small inputs.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "weft/autograd/tensor.h"

namespace weft {

using TensorFunction = std::function<Tensor(std::span<const Tensor>)>;

struct GradcheckOptions {
  double eps = 1e-6;
  double relative_tolerance = 1e-5;
  double absolute_tolerance = 1e-7;
};

// Empty if all agree, else a text that names input, element and both values. The output may have
// any shape: it is reduced to a scalar with fixed random weights. Inputs that are not f64 stay as
// they are and take no gradient. Inputs keep their strides.
std::string gradcheck(const TensorFunction& function, std::span<const Array> inputs,
                      const GradcheckOptions& options = {});

}  // namespace weft
