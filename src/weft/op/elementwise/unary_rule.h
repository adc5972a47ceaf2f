// UnaryRule: an elementwise operation of one operand, written down as its three kernels' names.
//
// For op/*_op.cpp. Integer and bool operands become f32 first.
#pragma once

#include "weft/autograd/tensor.h"
#include "weft/kernel/elementwise/elementwise.h"

namespace weft {

struct UnaryRule {
  const char* name;
  UnaryOp forward;
  // Combines the output's gradient with the value that `saves_output` chooses.
  BinaryOp gradient;
  // The gradient is made from the output, not from the input.
  bool saves_output;
  // dy/dx by operations, for second gradients, from what was saved. Null if the operation is
  // piecewise linear: then the gradient is linear in dy alone.
  Tensor (*slope)(const Tensor& saved, const OpScalars& scalars);
};

// REQUIRES: `rule` has static storage.
Tensor apply_rule(const UnaryRule& rule, const Tensor& x, const OpScalars& scalars = {});

}  // namespace weft
