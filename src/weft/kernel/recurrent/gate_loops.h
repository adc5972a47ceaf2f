// GateLoops: the work of a recurrent layer on one row at one time step, apart from its matrix
// products; one build for each instruction set.
//
// For this folder. Pointers refer to `width` dense values unless stated; those to several gates, to
// so many of each gate, which begin `gate_step` values behind those of the gate before. Outputs
// overlap inputs only where stated.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

template <class T>
struct LstmStep {
  T* gates;  // in the order i, f, g, o: sums in forward, activated from then on
  std::int64_t gate_step;
  const T* cell_before;
  T* cell;
  T* hidden;  // forward: written
};

template <class T>
struct LstmStepGradient {
  const T* gates;
  const T* cell_before;
  const T* cell;
  const T* hidden_gradient;
  T* cell_gradient;   // in and out
  T* gate_gradients;  // [4 width]
};

template <class T>
struct GruStep {
  T* gates;              // r, z, n: the input's share in forward, activated from then on
  const T* hidden_sums;  // the hidden state's share of each gate
  std::int64_t gate_step;
  T* candidate_sums;  // its n part, kept for the gradient
  const T* hidden_before;
  T* hidden;
};

template <class T>
struct GruStepGradient {
  const T* gates;
  const T* candidate_sums;
  const T* hidden_before;
  T* hidden_gradient;       // in; out: the part that bypasses the matrix
  T* gate_gradients;        // [3 width] of the input's share
  T* hidden_sum_gradients;  // [3 width] of the hidden state's share
};

template <class T>
struct GateLoops {
  void (*lstm)(const LstmStep<T>& step, std::int64_t width);
  void (*lstm_gradient)(const LstmStepGradient<T>& step, std::int64_t width);
  void (*gru)(const GruStep<T>& step, std::int64_t width);
  void (*gru_gradient)(const GruStepGradient<T>& step, std::int64_t width);
  // hidden = tanh(sums); and gradients = hidden_gradient (1 - hidden^2).
  void (*tanh)(const T* sums, T* hidden, std::int64_t width);
  void (*tanh_gradient)(const T* hidden, const T* hidden_gradient, T* gradients,
                        std::int64_t width);
  // The same for max(x, 0).
  void (*relu)(const T* sums, T* hidden, std::int64_t width);
  void (*relu_gradient)(const T* hidden, const T* hidden_gradient, T* gradients,
                        std::int64_t width);
  // into += from.
  void (*add)(const T* from, T* into, std::int64_t width);
};

// gate_loops_f32(): the loops for this processor.
WEFT_LOOPS(GateLoops<float>, gate_loops_f32)
extern const GateLoops<double> kGateLoopsDouble;

template <class T>
const GateLoops<T>& gate_loops() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return gate_loops_f32();
  } else {
    return kGateLoopsDouble;
  }
}

}  // namespace weft
