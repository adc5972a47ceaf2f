// Losses of one value against one target, element by element, with their derivatives.
//
// f32 and f64; bf16 and f16 are computed in f32 and rounded once.
// Fails: REQUIRES equal shapes and floating types (the ops have checked them).
#pragma once

#include "weft/array/array.h"

namespace weft {

enum class PointwiseLoss : std::uint8_t {
  kSquared,    // (x - t)^2
  kAbsolute,   // |x - t|
  kHuber,      // (x - t)^2 / 2 up to |x - t| = parameter, then parameter (|x - t| - parameter / 2)
  kBceLogits,  // (1 - t) x + (1 + (w - 1) t) ln(1 + e^-x), w the third operand
  kBce,        // -t ln x - (1 - t) ln(1 - x), logarithms held at -100
  kKl,         // t (ln t - x), 0 for t = 0
  kKlLog,      // e^t (t - x)
};

struct PointwiseLossRule {
  PointwiseLoss kind;
  double parameter = 1;
};

// The requested part of the loss: its value, or its derivative by x or by the target.
enum class LossPart : std::uint8_t { kValue, kByInput, kByTarget };

// factor[i] * part(x[i], t[i], weight[i]); `factor` (absent: 1) and `weight` (absent: 1) have x's
// shape. Contiguous, type of x.
Array pointwise_loss(const PointwiseLossRule& rule, LossPart part, const Array& x,
                     const Array& target, const Array& weight, const Array& factor);

}  // namespace weft
