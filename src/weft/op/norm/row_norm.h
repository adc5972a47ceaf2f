// Code shared by layer_norm and rms_norm. For op/*_norm_op.cpp.
#pragma once

#include <functional>
#include <vector>

#include "weft/autograd/tensor.h"
#include "weft/op/core/op_def.h"

namespace weft {

struct RowNorm {
  const Tensor& weight;
  const Tensor& bias;
  double eps;
  bool centered;
};

// x normalised over its last `axes` axes. Throws std::invalid_argument naming `op`.
Tensor row_norm(const char* op, const Tensor& x, int axes, const RowNorm& norm);

struct RowNormReference {
  double eps;
  bool centered;  // and with a bias
};
std::vector<OpSample> row_norm_samples(
    const std::function<Tensor(std::span<const Tensor>, int axes)>& op,
    const RowNormReference& reference);

}  // namespace weft
