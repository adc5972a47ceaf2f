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
  // AMSGrad: the largest variance so far, which divides in its place. Empty: Adam as published.
  std::span<float> variance_max = {};
};

// IMPLEMENTATION: Kingma, Ba, "Adam", ICLR 2015, algorithm 1; Loshchilov, Hutter, "Decoupled
// weight decay regularization", ICLR 2019, algorithm 2, in PyTorch's arrangement of the terms;
// AMSGrad: Reddi, Kale, Kumar, "On the convergence of Adam and beyond", ICLR 2018, algorithm 2.
void adam_step(const AdamConstants& constants, std::span<const float> gradients,
               const AdamState& state, std::span<float> parameters);

struct AdagradConstants {
  float learning_rate = 0.01F;
  float epsilon = 1e-10F;
  float weight_decay = 0.0F;
};

// g += weight_decay * p;  s += g^2;  p -= learning_rate * g / (sqrt(s) + epsilon).
// IMPLEMENTATION: Duchi, Hazan, Singer, "Adaptive subgradient methods", JMLR 12, 2011, diagonal.
void adagrad_step(const AdagradConstants& constants, std::span<const float> gradients,
                  std::span<float> square_sum, std::span<float> parameters);

struct RmsPropConstants {
  float learning_rate = 0.01F;
  double smoothing = 0.99;
  float momentum = 0.0F;
  float epsilon = 1e-8F;
  float weight_decay = 0.0F;
};

struct RmsPropState {
  std::span<float> square_mean;
  std::span<float> mean = {};      // empty unless centred
  std::span<float> momentum = {};  // empty without momentum
};

// s = smoothing * s + (1 - smoothing) g^2;  p -= learning_rate * g / (sqrt(s) + epsilon); centred:
// s less the square of the mean of g; momentum: of the quotient.
// IMPLEMENTATION: Tieleman, Hinton, lecture 6.5 of "Neural networks for machine learning", 2012;
// centred: Graves, "Generating sequences with recurrent neural networks", 2013, section 4.2, with
// epsilon outside of the root as PyTorch has it.
void rms_prop_step(const RmsPropConstants& constants, std::span<const float> gradients,
                   const RmsPropState& state, std::span<float> parameters);

struct AdadeltaConstants {
  float learning_rate = 1.0F;
  double smoothing = 0.9;
  float epsilon = 1e-6F;
  float weight_decay = 0.0F;
};

struct AdadeltaState {
  std::span<float> square_mean;
  std::span<float> delta_square_mean;
};

// IMPLEMENTATION: Zeiler, "ADADELTA", 2012, algorithm 1, times a learning rate.
void adadelta_step(const AdadeltaConstants& constants, std::span<const float> gradients,
                   const AdadeltaState& state, std::span<float> parameters);

struct LionConstants {
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0.0;
};

// p = (1 - rate * decay) p - rate * sign(beta1 m + (1 - beta1) g);  m = beta2 m + (1 - beta2) g.
// sign(0) is 0. IMPLEMENTATION: Chen et al., "Symbolic discovery of optimization algorithms",
// NeurIPS 2023, algorithm 2.
void lion_step(const LionConstants& constants, std::span<const float> gradients,
               std::span<float> mean, std::span<float> parameters);

}  // namespace weft
