// linear_map(): a linear function of one Tensor with its gradients of every order. For the tensor
// vjps of op/*_op.cpp whose gradient is linear in dy (relu, slice, pooling, ...).
//
//   // Gives where(y > 0, dy, 0), which is its own transpose.
//   const auto mask = [y](const Array& dy) { return relu_backward(dy, y); };
//   dx.add(0, linear_map("relu_gradient", dy, mask, mask));
//
// `map` takes an Array of any strides to a new one; `transposed` takes one of the result's shape
// back. Both capture plain values and the Arrays they need.
// Threads: as record().
#pragma once

#include "weft/autograd/node.h"

namespace weft {

template <class Map, class Transposed>
Tensor linear_map(const char* name, const Tensor& x, Map map, Transposed transposed) {
  return record(
      name, map(x.array()), {&x},
      [transposed](const Array& dy, const InputGradients& dx) { dx.add(0, transposed(dy)); },
      [name, map, transposed](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, linear_map(name, dy, transposed, map));
      });
}

}  // namespace weft
