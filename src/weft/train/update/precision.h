// Mixed precision: forward and backward in bf16 or f16, parameters and their gradients in f32.
//
// While a LowPrecision exists, the model computes with casts of its parameters; their gradients
// flow back through the casts into the f32 gradients of the parameters themselves. Norms, softmax
// and sums compute in f32 inside, losses use f32 logits.
// IMPLEMENTATION: Micikevicius et al., "Mixed precision training", ICLR 2018: master weights
// (section 3.1), loss scaling (3.2, loss_scale.h), sums in f32 (3.3).
//
// Where it stands: train step. Threads: the training thread.
#pragma once

#include <string_view>
#include <vector>

#include "weft/array/dtype/dtype.h"
#include "weft/autograd/tensor.h"
#include "weft/nn/module.h"

namespace weft {

bool is_precision(std::string_view name);
// "f32", "bf16" or "f16". REQUIRES: one of them.
DType precision_dtype(std::string_view name);

class LowPrecision {
 public:
  // Borrows `model`. Does nothing for f32.
  LowPrecision(Module& model, DType dtype);
  ~LowPrecision();
  LowPrecision(const LowPrecision&) = delete;
  LowPrecision& operator=(const LowPrecision&) = delete;

  // Inputs of the model: floating ones in its precision, tokens as they are.
  Tensor input(const Array& values) const;
  // The model's output, in f32.
  static Tensor output(const Tensor& values);

 private:
  Module& model_;
  DType dtype_;
  std::vector<Tensor> masters_;  // empty for f32
};

}  // namespace weft
