// Batch, layer, root-mean-square, group and instance normalisation.
//
// Statistics are computed in f64 for every type. bf16 and f16 values are normalised in f32.
#pragma once

#include "weft/autograd/tensor.h"
#include "weft/op/activation.h"

namespace weft {

struct BatchNormOptions {
  bool training = false;
  // running = (1 - momentum) * running + momentum * batch.
  double momentum = 0.1;
  double eps = 1e-5;
  Activation activation = Activation::kNone;
};

// `x` [N, C] or [N, C, ...]; `weight` and `bias` [C], both or neither undefined. In training the
// statistics of the batch normalise, and the running ones [C], unless undefined, are updated in
// place (variance with n - 1, as PyTorch; n is the number of values per channel, which must not be
// 1; an empty batch does not change them).
// Otherwise the running statistics normalise. A blocked input gives a blocked output.
// std::invalid_argument on other shapes.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, Array& running_mean,
                  Array& running_var, const BatchNormOptions& options);

// Over the last `axes` axes of `x`, whose shape `weight` and `bias` have (or are undefined).
Tensor layer_norm(const Tensor& x, int axes, const Tensor& weight, const Tensor& bias,
                  double eps = 1e-5);
// x / sqrt(mean(x^2) + eps) * weight, over the last `axes` axes.
Tensor rms_norm(const Tensor& x, int axes, const Tensor& weight, double eps = 1e-6);

// `x` [N, C, ...]: each image's channels in `groups` groups, which divide C, are normalised
// together. `weight` and `bias` [C] or undefined.
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps = 1e-5);
// Each channel of each image by itself.
Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5);

}  // namespace weft
