// Adafactor over one dense parameter of any shape, as PyTorch has it.
//
// Other than adafactor_matrix_step(), which recipes use, it factors the last two dimensions, with
// one pair of moments for each matrix before them, takes its small constant as a bound from below
// and decays by the given rate itself.
// Value is float or double; sums are f64 in one fixed order. The calling thread and the compute
// threads.
#pragma once

#include <span>

#include "weft/array/shape/shape.h"

namespace weft {

struct TorchAdafactorConstants {
  double learning_rate = 1e-2;
  double beta2_decay = -0.8;  // the share of new squares is step ^ beta2_decay
  double epsilon = 1e-7;      // least root of a second moment
  double scale_least = 1e-3;  // least root mean square of the parameter that scales the rate
  double clip_threshold = 1.0;
  double weight_decay = 0.0;
  double step = 1.0;  // counts from 1
};

// Mean squares of the gradient along the last and the second to last dimension, or, below two
// dimensions, `whole`.
template <class Value>
struct AdafactorMoments {
  std::span<Value> rows = {};
  std::span<Value> columns = {};
  std::span<Value> whole = {};
};

// Shapes of the moments of a parameter of at least two dimensions.
Shape adafactor_row_shape(const Shape& shape);     // [..., rows, 1]
Shape adafactor_column_shape(const Shape& shape);  // [..., 1, columns]

// IMPLEMENTATION: Shazeer, Stern, "Adafactor: adaptive learning rates with sublinear memory cost",
// ICML 2018, in torch.optim.Adafactor's arrangement. Instantiated for float and double.
template <class Value>
void torch_adafactor_step(const TorchAdafactorConstants& constants, const Shape& shape,
                          std::span<const Value> gradients, const AdafactorMoments<Value>& moments,
                          std::span<Value> parameters);

}  // namespace weft
