// OptimizerLoops: the optimizers' passes over dense memory of one Value, float or double, in one
// build for each instruction set. All give the same bits in each build: nothing is contracted, and
// every sum has one fixed order.
//
// For this folder. Ranges are [begin, end) so that threads can share a call's arguments.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

template <class Value>
struct SgdPass {
  const Value* gradients;
  Value* momentum_state;
  Value* parameters;
  Value learning_rate;
  Value momentum;
  Value gradient_share;  // 1 - dampening, or 1 in the first step
  Value weight_decay;
  bool nesterov;
};

template <class Value>
struct AdamPass {
  const Value* gradients;
  Value* mean;
  Value* variance;
  Value* parameters;
  Value beta1;
  Value mean_share;  // 1 - beta1
  Value beta2;
  Value variance_share;
  Value step_size;        // learning rate / bias correction of the mean
  Value root_correction;  // square root of the bias correction of the variance
  Value epsilon;
  Value weight_decay;  // added to the gradient
  Value shrink;        // parameters are multiplied by it first
};

template <class Value>
struct AmsgradPass {
  AdamPass<Value> adam;
  Value* variance_max;
};

template <class Value>
struct AdagradPass {
  const Value* gradients;
  Value* square_sum;
  Value* parameters;
  Value learning_rate;
  Value epsilon;
  Value weight_decay;
};

template <class Value>
struct RmsPropPass {
  const Value* gradients;
  Value* square_mean;
  Value* mean;      // null: not centred
  Value* momentum;  // null: none
  Value* parameters;
  Value learning_rate;
  Value smoothing;
  Value share;  // 1 - smoothing
  Value momentum_factor;
  Value epsilon;
  Value weight_decay;
};

template <class Value>
struct AdadeltaPass {
  const Value* gradients;
  Value* square_mean;
  Value* delta_square_mean;
  Value* parameters;
  Value learning_rate;
  Value smoothing;
  Value share;
  Value epsilon;
  Value weight_decay;
};

template <class Value>
struct LionPass {
  const Value* gradients;
  Value* mean;
  Value* parameters;
  Value learning_rate;
  Value beta1;
  Value share1;  // 1 - beta1
  Value beta2;
  Value share2;
  Value shrink;  // parameters are multiplied by it first
};

// One dense matrix [rows, columns] of gradients, and factors of its rows and columns.
template <class Value>
struct FactoredPass {
  const Value* gradients;
  const Value* row_factors;
  const Value* column_factors;
  std::int64_t columns;
};

// c[m, n] = scale_product * a[m, k] b[k, n] + scale_c * c, all dense; c is read only where scale_c
// is not 0. Not transposed: the caller does that.
template <class Value>
struct ProductPass {
  const Value* a;
  const Value* b;
  Value* c;
  std::int64_t n;
  std::int64_t k;
  Value scale_product;
  Value scale_c;
};

// out = first * a + second * b; out may be a or b.
template <class Value>
struct BlendPass {
  const Value* a;
  Value first;
  const Value* b;
  Value second;
  Value* out;
};

template <class Value>
struct OptimizerLoops {
  void (*sgd)(const SgdPass<Value>& pass, std::int64_t begin, std::int64_t end);
  void (*adam)(const AdamPass<Value>& pass, std::int64_t begin, std::int64_t end);
  void (*amsgrad)(const AmsgradPass<Value>& pass, std::int64_t begin, std::int64_t end);
  void (*adagrad)(const AdagradPass<Value>& pass, std::int64_t begin, std::int64_t end);
  void (*rms_prop)(const RmsPropPass<Value>& pass, std::int64_t begin, std::int64_t end);
  void (*adadelta)(const AdadeltaPass<Value>& pass, std::int64_t begin, std::int64_t end);
  void (*lion)(const LionPass<Value>& pass, std::int64_t begin, std::int64_t end);
  void (*blend)(const BlendPass<Value>& pass, std::int64_t begin, std::int64_t end);
  // Sum of x[i]^2 over [begin, end), eight partial sums side by side.
  double (*sum_of_squares)(const Value* x, std::int64_t begin, std::int64_t end);
  // sums[j] += the squares of column j over rows [0, rows), for j in [begin, end), in f64.
  void (*column_squares)(const FactoredPass<Value>& pass, std::int64_t rows, double* sums,
                         std::int64_t begin, std::int64_t end);
  // Sum of the squares of row factor * column factor * gradient over one row.
  double (*scaled_squares)(const FactoredPass<Value>& pass, std::int64_t row);
  // parameters = shrink * parameters - row factor * column factor * gradients, rows [begin, end).
  void (*factored_update)(const FactoredPass<Value>& pass, Value shrink, Value* parameters,
                          std::int64_t begin, std::int64_t end);
  // Rows [begin, end) of c.
  void (*product)(const ProductPass<Value>& pass, std::int64_t begin, std::int64_t end);
};

// One instruction set's.
struct OptimizerBuild {
  OptimizerLoops<float> f32;
  OptimizerLoops<double> f64;
};
WEFT_MEMORY_LOOPS(OptimizerBuild, optimizer_build)

// The loops for this processor.
template <class Value>
const OptimizerLoops<Value>& optimizer_loops() {
  if constexpr (sizeof(Value) == sizeof(float)) {
    return optimizer_build().f32;
  } else {
    return optimizer_build().f64;
  }
}

}  // namespace weft
