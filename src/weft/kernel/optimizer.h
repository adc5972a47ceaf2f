// The optimizers' loops over flat spans: one pass over memory a step.
//
// The arithmetic is elementwise, single precision, in one fixed order and without contraction, so
// the same input gives the same bits on every instruction set and for any thread count.
// Spans have equal lengths and do not overlap. States start as zeros.
// Threads: the calling thread and the compute threads.
#pragma once

#include <cstdint>
#include <span>

namespace weft {

struct SgdConstants {
  float learning_rate = 0.01F;
  float momentum = 0.0F;
  float dampening = 0.0F;
  float weight_decay = 0.0F;
  bool nesterov = false;
  // The first step sets the momentum to the gradient, undampened, as PyTorch does.
  bool first_step = false;
};

// g += weight_decay * p;  m = momentum * m + (1 - dampening) * g;  p -= learning_rate * m
// (Nesterov: learning_rate * (g + momentum * m)). Without momentum `momentum_state` may be empty.
void sgd_step(const SgdConstants& constants, std::span<const float> gradients,
              std::span<float> momentum_state, std::span<float> parameters);

// In f64 so that 1 - beta is right; rounded to f32 where the loop uses them.
struct AdamConstants {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  // AdamW: the decay shrinks the parameters and is not part of the gradient.
  bool decoupled_weight_decay = false;
  std::int64_t step = 1;  // counts from 1
};

struct AdamState {
  std::span<float> mean;      // first moment
  std::span<float> variance;  // second moment, not centred
};

// IMPLEMENTATION: Kingma, Ba, "Adam", ICLR 2015, algorithm 1; Loshchilov, Hutter, "Decoupled
// weight decay regularization", ICLR 2019, algorithm 2, in PyTorch's arrangement of the terms.
void adam_step(const AdamConstants& constants, std::span<const float> gradients,
               const AdamState& state, std::span<float> parameters);

}  // namespace weft
