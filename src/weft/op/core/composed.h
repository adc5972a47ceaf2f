// Second gradients of operations whose first one is a single kernel. For op/*_op.cpp.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "weft/autograd/node.h"

namespace weft {

// The operation as a composition of smaller ones; entries of absent inputs are undefined.
using Composition = std::function<Tensor(const std::vector<Tensor>& inputs)>;

// The body of a tensor_vjp: the gradients of `compose`, with their graph. values[i] is the value of
// input i, undefined if it is absent. Costs the forward once more, in time and in memory.
void add_composed_gradients(const Composition& compose, std::span<const Array> values,
                            const Tensor& dy, const TensorGradients& dx);

}  // namespace weft
