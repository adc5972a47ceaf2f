// Code shared by the normalisations: their second gradient, written with operations, and their
// reference. For op/*_norm_op.cpp.
#pragma once

#include <functional>
#include <vector>

#include "weft/autograd/tensor.h"
#include "weft/op/core/op_def.h"

namespace weft {

// x normalised over `axes`: (x - mean) * inverse, or x * inverse unless centered.
struct NormalizedTensors {
  Tensor values;
  Tensor inverse;
};
NormalizedTensors normalize_tensors(const Tensor& x, const std::vector<int>& axes, double eps,
                                    bool centered);

// The gradient of x from `g`, that of the normalised values.
Tensor normalize_tensors_gradient(const Tensor& g, const NormalizedTensors& x,
                                  const std::vector<int>& axes, bool centered);

// Values with the same group_of(index) are normalised together; then times weight[channel_of(i)]
// plus bias[...] if there are such inputs (x, weight, bias).
struct NormReference {
  std::function<std::int64_t(std::int64_t)> group_of;
  std::function<std::int64_t(std::int64_t)> channel_of;
  double eps = 1e-5;
  bool centered = true;
};
Array norm_reference(std::span<const Array> in, const NormReference& reference);

}  // namespace weft
