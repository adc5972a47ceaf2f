// Cross-entropy of rows of logits with class weights, label smoothing and rows to ignore, fused
// with its softmax: one pass forward, one pass backward, one array of probabilities in between.
//
// Row i with target t, weights w (1 without) and smoothing e over C classes:
//   loss_i = (1 - e) w[t] (-log p[t]) + e/C sum_c w[c] (-log p[c]),   weight_i = w[t]
// and both are 0 if t is the ignored index. Nothing is read back on the host.
// Sums are in f64 and in the order of the rows: the same bits for any thread count.
// Fails: a target outside [0, C) that is not ignored throws std::invalid_argument.
#pragma once

#include <cstdint>

#include "weft/array/array.h"

namespace weft {

struct CrossEntropyRule {
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
};

struct CrossEntropyRows {
  Array losses;         // f64 [N]
  Array weights;        // f64 [N]
  Array probabilities;  // [N, C] f32 or f64
};

// `logits` [N, C] of a floating type, `targets` contiguous i64 [N], `class_weights` contiguous
// f64 [C] or undefined.
CrossEntropyRows cross_entropy_rows(const Array& logits, const Array& targets,
                                    const Array& class_weights, const CrossEntropyRule& rule);

// scale * sum(losses) / sum(weights), or without the division; [] of type `dtype`.
Array cross_entropy_sum(const CrossEntropyRows& rows, bool divide, double scale, DType dtype);

// How the gradient of a row is scaled: by `scale`, by dy ([] or [N]), and by 1 / sum(weights) if
// these are defined.
struct CrossEntropyScale {
  Array dy;
  Array weights;
  double scale = 1;
};

// The gradient of the logits, in the type of dy.
Array cross_entropy_gradient(const Array& probabilities, const Array& targets,
                             const Array& class_weights, const CrossEntropyRule& rule,
                             const CrossEntropyScale& scale);

}  // namespace weft
