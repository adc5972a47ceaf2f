// Optimizer steps that treat a parameter as a matrix: Adafactor and the orthogonalisation of Muon.
//
// As in optimizer.h: one fixed order, no contraction; the same bits on every instruction set and
// for any thread count. Adafactor is single precision; the parts of Muon have a type Value, float
// (the default) or double. Matrices are dense, [rows, columns].
// Threads: the calling thread and the compute threads.
#pragma once

#include <cstdint>
#include <span>

#include "weft/kernel/optimizer/optimizer.h"

namespace weft {

struct AdafactorConstants {
  double learning_rate = 1e-2;  // already relative to step and parameter scale, if so wished
  double decay = 0.0;           // share of the old second moments: 1 - step^-0.8
  double epsilon = 1e-30;       // added to squares
  double clip_threshold = 1.0;  // largest root mean square of an update
  double weight_decay = 0.0;    // decoupled
};

struct MatrixSize {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// Mean squares of the gradients' rows [rows] and columns [columns].
struct FactoredMoments {
  std::span<float> rows;
  std::span<float> columns;
};

// IMPLEMENTATION: Shazeer, Stern, "Adafactor: adaptive learning rates with sublinear memory cost",
// ICML 2018, algorithms 4 (matrices) and 5 (vectors), with means in place of sums, which cancel.
// 4 passes over the gradients; memory rows + columns.
void adafactor_matrix_step(const AdafactorConstants& constants, const MatrixSize& size,
                           std::span<const float> gradients, const FactoredMoments& moments,
                           std::span<float> parameters);
void adafactor_vector_step(const AdafactorConstants& constants, std::span<const float> gradients,
                           std::span<float> variance, std::span<float> parameters);

// Square root of the mean of the squares, in f64; 0 for no values.
template <class Value = float>
double root_mean_square(StepInput<Value> values);

// x = a x + (b s + c s^2) x with s = x x^T, `steps` times.
struct NewtonSchulz {
  double a = 3.4445;
  double b = -4.7750;
  double c = 2.0315;
  int steps = 5;
};

// Brings the singular values of `matrix`, which are at most 1, to about 1: between 0.7 and 1.2 by
// the coefficients above.
// IMPLEMENTATION: Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024;
// applied to the transpose if there are more rows than columns. About 10 r^2 (2 c + r) flops for
// five steps with r <= c the two sizes, half the speed of a contracted product.
template <class Value = float>
void newton_schulz(const MatrixSize& size, const NewtonSchulz& polynomial,
                   StepOutput<Value> matrix);

// Replaces `matrix` by a matrix near the nearest half-orthogonal one (U V^T of its singular value
// decomposition): divides by its norm plus 1e-7, then newton_schulz().
void orthogonalize(const MatrixSize& size, std::span<float> matrix);

// out = first * a + second * b; out may be either.
template <class Value = float>
void blend(StepInput<Value> a, double first, StepInput<Value> b, double second,
           StepOutput<Value> out);

}  // namespace weft
