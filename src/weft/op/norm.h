// Batch and layer normalisation.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft {

struct BatchNormOptions {
  bool training = false;
  // running = (1 - momentum) * running + momentum * batch.
  double momentum = 0.1;
  double eps = 1e-5;
};

// `x` [N, C] or [N, C, ...]; `weight` and `bias` [C], both or neither undefined. In training the
// statistics of the batch normalise, and the running ones [C], unless undefined, are updated in
// place (variance with n - 1, as PyTorch; n is the number of values a channel and must exceed 1).
// Otherwise the running statistics normalise. std::invalid_argument on other shapes.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, Array& running_mean,
                  Array& running_var, const BatchNormOptions& options);

// Over the last `axes` axes of `x`, whose shape `weight` and `bias` have (or are undefined).
Tensor layer_norm(const Tensor& x, int axes, const Tensor& weight, const Tensor& bias,
                  double eps = 1e-5);

}  // namespace weft
