// OptimizerLoops: the optimizers' passes over dense f32 memory beside those of flat_loops.h, one
// build for each instruction set. All give the same bits in each build: nothing is contracted, and
// every sum has one fixed order.
//
// For this folder. Ranges are [begin, end) so that threads can share a call's arguments.
#pragma once

#include <cstdint>

#include "weft/kernel/cpu/flat_loops.h"

namespace weft {

struct AmsgradPass {
  AdamPass adam;
  float* variance_max;
};

struct AdagradPass {
  const float* gradients;
  float* square_sum;
  float* parameters;
  float learning_rate;
  float epsilon;
  float weight_decay;
};

struct RmsPropPass {
  const float* gradients;
  float* square_mean;
  float* mean;      // null: not centred
  float* momentum;  // null: none
  float* parameters;
  float learning_rate;
  float smoothing;
  float share;  // 1 - smoothing
  float momentum_factor;
  float epsilon;
  float weight_decay;
};

struct AdadeltaPass {
  const float* gradients;
  float* square_mean;
  float* delta_square_mean;
  float* parameters;
  float learning_rate;
  float smoothing;
  float share;
  float epsilon;
  float weight_decay;
};

struct LionPass {
  const float* gradients;
  float* mean;
  float* parameters;
  float learning_rate;
  float beta1;
  float share1;  // 1 - beta1
  float beta2;
  float share2;
  float shrink;  // parameters are multiplied by it first
};

// One dense matrix [rows, columns] of gradients, and factors of its rows and columns.
struct FactoredPass {
  const float* gradients;
  const float* row_factors;
  const float* column_factors;
  std::int64_t columns;
};

// c[m, n] = scale_product * a[m, k] b[k, n] + scale_c * c, all dense; c is read only where scale_c
// is not 0. Not transposed: the caller does that.
struct ProductPass {
  const float* a;
  const float* b;
  float* c;
  std::int64_t n;
  std::int64_t k;
  float scale_product;
  float scale_c;
};

struct OptimizerLoops {
  void (*amsgrad)(const AmsgradPass& pass, std::int64_t begin, std::int64_t end);
  void (*adagrad)(const AdagradPass& pass, std::int64_t begin, std::int64_t end);
  void (*rms_prop)(const RmsPropPass& pass, std::int64_t begin, std::int64_t end);
  void (*adadelta)(const AdadeltaPass& pass, std::int64_t begin, std::int64_t end);
  void (*lion)(const LionPass& pass, std::int64_t begin, std::int64_t end);
  // out = first * a + second * b; out may be a or b.
  void (*blend)(const float* a, float first, const float* b, float second, float* out,
                std::int64_t begin, std::int64_t end);
  // Sum of x[i]^2 over [begin, end), eight partial sums side by side.
  double (*sum_of_squares)(const float* x, std::int64_t begin, std::int64_t end);
  // sums[j] += the squares of column j over rows [0, rows), for j in [begin, end), in f64.
  void (*column_squares)(const FactoredPass& pass, std::int64_t rows, double* sums,
                         std::int64_t begin, std::int64_t end);
  // Sum of the squares of row factor * column factor * gradient over one row.
  double (*scaled_squares)(const FactoredPass& pass, std::int64_t row);
  // parameters = shrink * parameters - row factor * column factor * gradients, rows [begin, end).
  void (*factored_update)(const FactoredPass& pass, float shrink, float* parameters,
                          std::int64_t begin, std::int64_t end);
  // Rows [begin, end) of c.
  void (*product)(const ProductPass& pass, std::int64_t begin, std::int64_t end);
};

extern const OptimizerLoops kOptimizerLoopsGeneric;
#if defined(__x86_64__)
extern const OptimizerLoops kOptimizerLoopsAvx2;
#endif

const OptimizerLoops& optimizer_loops();

}  // namespace weft
