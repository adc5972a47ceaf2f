// Code shared by losses of one value against one target: operands that broadcast, the recorded
// elementwise part, the reduction.
//
// For op/*_loss_op.cpp.
#pragma once

#include <span>
#include <vector>

#include "weft/kernel/reduce/pointwise_loss.h"
#include "weft/op/core/op_def.h"
#include "weft/op/loss.h"

namespace weft {

// The derivatives as operations, for second gradients. `weight` may be undefined.
struct PointwiseDerivatives {
  using Derivative = Tensor (*)(const Tensor& x, const Tensor& target, const Array& weight,
                                double parameter);
  Derivative by_input;
  Derivative by_target;
};

struct PointwiseLossOp {
  const char* name;
  PointwiseLossRule rule;
  PointwiseDerivatives derivatives;
};

// The losses one by one. `weight` is the third operand of the rule; undefined means 1.
Tensor pointwise_losses(const PointwiseLossOp& op, const Tensor& x, const Tensor& target,
                        const Array& weight = {});

Tensor reduced(const Tensor& losses, Reduction reduction);

// Samples of a loss of two inputs; `reference` is that of one value.
std::vector<OpSample> pointwise_loss_samples(
    const std::function<Tensor(const Tensor&, const Tensor&, Reduction)>& op,
    const std::function<double(double x, double target)>& reference, double low, double high);

}  // namespace weft
