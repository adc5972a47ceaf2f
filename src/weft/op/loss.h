// cross_entropy: log-softmax and negative log-likelihood in one pass.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft {

enum class Reduction { kMean, kSum };

struct CrossEntropyOptions {
  Reduction reduction = Reduction::kMean;
  // Multiplies loss and gradient: a peer with a part of a batch sums and scales by
  // 1 / (global batch).
  double scale = 1.0;
};

// `logits` [N, C], `targets` i64 [N] in [0, C) -> a scalar of shape []. The mean over no rows is
// NaN, as in PyTorch; the sum is 0. std::invalid_argument on other shapes, types or targets.
Tensor cross_entropy(const Tensor& logits, const Array& targets,
                     const CrossEntropyOptions& options = {});
inline Tensor cross_entropy(const Tensor& logits, const Array& targets, Reduction reduction) {
  return cross_entropy(logits, targets, CrossEntropyOptions{reduction, 1.0});
}

}  // namespace weft
