// Layer, root-mean-square, batch and group normalisation over Arrays, f32 or f64, one pass each
// way: the normalised values are not kept, gradients work from x and the statistics. Batch
// normalisation takes x and dy of bf16 too, with weights, bias and their gradients of f32; it
// computes in f32 and rounds y and the gradient of x once.
//
// Statistics are f64. Batch normalisation keeps blocked arrays blocked and can apply ReLU in its
// own pass. Deterministic: the same bits for any thread count and instruction set.
// Threads: the calling thread and the compute threads.
#pragma once

#include <cstdint>

#include "weft/array/array.h"

namespace weft {

struct NormedRows {
  Array y;
  Array mean;     // f64 [rows]; undefined unless centered
  Array inverse;  // f64 [rows], 1 / sqrt(variance + eps)
};

struct RowNormOptions {
  std::int64_t length = 1;  // of a row: the product of the last axes
  double eps = 1e-5;
  bool centered = true;  // false: root mean square
  // Whether mean and inverse are wanted: no gradient follows without them.
  bool statistics = true;
};

// `weight` and `bias` of `length` values may be undefined.
NormedRows norm_rows(const Array& x, const Array& weight, const Array& bias,
                     const RowNormOptions& options);

// Those gradients that were requested.
struct NormGradients {
  Array x;
  Array weight;
  Array bias;
};
struct NormWants {
  bool x = true;
  bool weight = true;
  bool bias = true;
};
// `forward` holds the statistics; its y is not used.
NormGradients norm_rows_gradient(const Array& dy, const Array& x, const Array& weight,
                                 const NormedRows& forward, const RowNormOptions& options,
                                 const NormWants& wants);

// x [N, C] or [N, C, ...].
struct BatchNormed {
  Array y;
  Array mean;      // f64 [C]
  Array variance;  // f64 [C], over n
};
struct BatchNormSpec {
  double eps = 1e-5;
  bool relu = false;
  bool training = true;
};
// In training `mean` and `variance` are the batch's; else they are given, f64 [C]. `weight` and
// `bias` [C] may be undefined.
BatchNormed batch_norm_forward(const Array& x, const Array& weight, const Array& bias,
                               const BatchNormSpec& spec, const Array& mean, const Array& variance);
// `forward` holds the statistics; its y is not used.
NormGradients batch_norm_backward(const Array& dy, const Array& x, const Array& weight,
                                  const Array& bias, const BatchNormed& forward,
                                  const BatchNormSpec& spec);
// running = (1 - momentum) running + momentum * scale * batch, in place; `batch` is f64.
void move_running(Array& running, const Array& batch, double momentum, double scale);

// x [N, C, ...] in `groups` groups of channels, each normalised for each image.
struct GroupNormed {
  Array y;
  Array mean;     // f64 [N * groups]
  Array inverse;  // f64 [N * groups]
};
GroupNormed group_norm_forward(const Array& x, const Array& weight, const Array& bias,
                               std::int64_t groups, double eps);
NormGradients group_norm_backward(const Array& dy, const Array& x, const Array& weight,
                                  const GroupNormed& forward, std::int64_t groups);

}  // namespace weft
