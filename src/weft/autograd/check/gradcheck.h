// gradcheck(): compares the gradients of a function with central differences in f64. For tests.
//
// Every element of every input is moved by +-eps, which costs 2 n forward passes: small inputs.
#pragma once

#include <span>
#include <string>

#include "weft/autograd/function/functional.h"

namespace weft {

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

// The same for the second gradient: that of a weighted sum of the first gradients, as create_graph
// gives it, for inputs and for the gradient that the first starts from, with central differences
// of the first gradient as the plain backward gives it. Both ways must give the same first
// gradient too.
std::string gradgradcheck(const TensorFunction& function, std::span<const Array> inputs,
                          const GradcheckOptions& options = {});

}  // namespace weft
