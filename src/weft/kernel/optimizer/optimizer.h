// The optimizers' loops over flat spans: one pass over memory per step.
//
// Value is float, the default, or double; all of a step's arithmetic uses it. It is elementwise, in
// one fixed order and without contraction, so the same input gives the same bits on every
// instruction set and for any thread count. Constants are f64 and are rounded to Value only in the
// loops, so that 1 - beta is exact.
// Spans have equal lengths and do not overlap. States start as zeros.
// Threads: the calling thread and the compute threads.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

namespace weft {

// Spans of a step's Value, which is given by name and not deduced: vectors convert to them.
template <class Value>
using StepInput = std::type_identity_t<std::span<const Value>>;
template <class Value>
using StepOutput = std::type_identity_t<std::span<Value>>;

struct SgdConstants {
  double learning_rate = 0.01;
  double momentum = 0.0;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
  // The first step sets the momentum to the gradient, undampened, as PyTorch does.
  bool first_step = false;
};

// g += weight_decay * p;  m = momentum * m + (1 - dampening) * g;  p -= learning_rate * m
// (Nesterov: learning_rate * (g + momentum * m)). Without momentum `momentum_state` may be empty.
template <class Value = float>
void sgd_step(const SgdConstants& constants, StepInput<Value> gradients,
              StepOutput<Value> momentum_state, StepOutput<Value> parameters);

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

template <class Value>
struct AdamStateOf {
  std::span<Value> mean;      // first moment
  std::span<Value> variance;  // second moment, not centred
  // AMSGrad: the largest variance so far, which divides in its place. Empty: Adam as published.
  std::span<Value> variance_max = {};
};
using AdamState = AdamStateOf<float>;

// IMPLEMENTATION: Kingma, Ba, "Adam", ICLR 2015, algorithm 1; Loshchilov, Hutter, "Decoupled
// weight decay regularization", ICLR 2019, algorithm 2, in PyTorch's arrangement of the terms;
// AMSGrad: Reddi, Kale, Kumar, "On the convergence of Adam and beyond", ICLR 2018, algorithm 2.
template <class Value = float>
void adam_step(const AdamConstants& constants, StepInput<Value> gradients,
               const std::type_identity_t<AdamStateOf<Value>>& state, StepOutput<Value> parameters);

struct AdagradConstants {
  double learning_rate = 0.01;
  double epsilon = 1e-10;
  double weight_decay = 0.0;
};

// g += weight_decay * p;  s += g^2;  p -= learning_rate * g / (sqrt(s) + epsilon).
// IMPLEMENTATION: Duchi, Hazan, Singer, "Adaptive subgradient methods", JMLR 12, 2011, diagonal.
template <class Value = float>
void adagrad_step(const AdagradConstants& constants, StepInput<Value> gradients,
                  StepOutput<Value> square_sum, StepOutput<Value> parameters);

struct RmsPropConstants {
  double learning_rate = 0.01;
  double smoothing = 0.99;
  double momentum = 0.0;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
};

template <class Value>
struct RmsPropStateOf {
  std::span<Value> square_mean;
  std::span<Value> mean = {};      // empty unless centred
  std::span<Value> momentum = {};  // empty without momentum
};
using RmsPropState = RmsPropStateOf<float>;

// s = smoothing * s + (1 - smoothing) g^2;  p -= learning_rate * g / (sqrt(s) + epsilon); centred:
// s less the square of the mean of g; momentum: of the quotient.
// IMPLEMENTATION: Tieleman, Hinton, lecture 6.5 of "Neural networks for machine learning", 2012;
// centred: Graves, "Generating sequences with recurrent neural networks", 2013, section 4.2, with
// epsilon outside of the root as PyTorch has it.
template <class Value = float>
void rms_prop_step(const RmsPropConstants& constants, StepInput<Value> gradients,
                   const std::type_identity_t<RmsPropStateOf<Value>>& state,
                   StepOutput<Value> parameters);

struct AdadeltaConstants {
  double learning_rate = 1.0;
  double smoothing = 0.9;
  double epsilon = 1e-6;
  double weight_decay = 0.0;
};

template <class Value>
struct AdadeltaStateOf {
  std::span<Value> square_mean;
  std::span<Value> delta_square_mean;
};
using AdadeltaState = AdadeltaStateOf<float>;

// IMPLEMENTATION: Zeiler, "ADADELTA", 2012, algorithm 1, times a learning rate.
template <class Value = float>
void adadelta_step(const AdadeltaConstants& constants, StepInput<Value> gradients,
                   const std::type_identity_t<AdadeltaStateOf<Value>>& state,
                   StepOutput<Value> parameters);

struct LionConstants {
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0.0;
};

// p = (1 - rate * decay) p - rate * sign(beta1 m + (1 - beta1) g);  m = beta2 m + (1 - beta2) g.
// sign(0) is 0. IMPLEMENTATION: Chen et al., "Symbolic discovery of optimization algorithms",
// NeurIPS 2023, algorithm 2.
template <class Value = float>
void lion_step(const LionConstants& constants, StepInput<Value> gradients, StepOutput<Value> mean,
               StepOutput<Value> parameters);

}  // namespace weft
