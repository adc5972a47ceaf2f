// Convolutions over images and sequences (cross-correlations, as in every framework) and their
// transposes.
//
// f32 or f64; bf16 and f16 are computed in f32. Blocked results (kernel/conv/conv.h) are read by
// the next convolution, normalisation or pooling without a reorder. All throw std::invalid_argument
// where shapes do not fit.
#pragma once

#include <cstdint>

#include "weft/array/pair.h"
#include "weft/autograd/tensor.h"
#include "weft/op/activation.h"

namespace weft {

// Pairs are {height, width}.
struct Conv2dOptions {
  Pair stride = 1;
  Pair padding = 0;
  Pair dilation = 1;
  std::int64_t groups = 1;
  Activation activation = Activation::kNone;
};

// x [N, C, H, W], weight [O, C / groups, kh, kw], bias [O] or undefined -> [N, O, H', W'] with
// H' = (H + 2 padding - dilation (kh - 1) - 1) / stride + 1. f32 or f64. The f32 result may be
// blocked, so that the next convolution or pooling reads it without a reorder.
// Throws std::invalid_argument where shapes do not fit or the window is larger than the image.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Conv2dOptions& options = {});

// The operands of batch_norm() in evaluation; weight and bias may be undefined.
struct EvaluatedNorm {
  const Tensor& weight;
  const Tensor& bias;
  Array& running_mean;
  Array& running_var;
  double eps;
};
// batch_norm() of conv2d(), then the activation of `options`. Where nothing is recorded and weights
// are kept in other forms (kernel/core/prepared_weights.h), it is one convolution: its filters
// contain the normalisation, so that results differ by rounding.
Tensor conv2d_normalized(const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Conv2dOptions& options, const EvaluatedNorm& norm);

struct Conv1dOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  Activation activation = Activation::kNone;
};
// x [N, C, L], weight [O, C / groups, k], bias [O] or undefined -> [N, O, L'].
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Conv1dOptions& options = {});

// Pairs are {height, width}. Output padding adds rows and columns at the far ends, fewer than the
// stride; they choose among the sizes that a convolution would take to x's.
struct ConvTranspose2dOptions {
  Pair stride = 1;
  Pair padding = 0;
  Pair output_padding = 0;
  Pair dilation = 1;
  std::int64_t groups = 1;
};
// The transpose of conv2d, which is its gradient: x [N, C, H, W], weight [C, O / groups, kh, kw],
// bias [O] or undefined -> [N, O, H', W'] with
// H' = (H - 1) stride - 2 padding + dilation (kh - 1) + output_padding + 1.
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose2dOptions& options = {});

struct ConvTranspose1dOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t output_padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};
// x [N, C, L], weight [C, O / groups, k].
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose1dOptions& options = {});

}  // namespace weft
