// Losses. Names, formulas and defaults are those of torch.nn.functional unless stated.
//
// kMean divides by the number of values (of rows, weighted, in cross_entropy and nll_loss) and is
// NaN for no values; kNone returns a loss for each value. No loss reads values on the host, so all
// can be captured. All throw std::invalid_argument on shapes, types or targets that do not fit.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/autograd/tensor.h"
#include "weft/op/index_operand.h"

namespace weft {

enum class Reduction { kMean, kSum, kNone };

struct CrossEntropyOptions {
  Reduction reduction = Reduction::kMean;
  // Multiplies loss and gradient: a peer with a part of a batch sums and scales by
  // 1 / (global batch).
  double scale = 1.0;
  // In [0, 1]: the share of the target that is spread evenly over all classes.
  double label_smoothing = 0.0;
  // Rows of this target count neither in the loss nor in the mean.
  std::int64_t ignore_index = -100;
  // [C], one for each class; 1 if undefined. kMean divides by the sum of the targets' weights.
  Array class_weights = {};
  // The axis of the classes. By default the last one if the targets have the shape of the logits
  // without it, else axis 1, PyTorch's.
  std::optional<int> class_axis = std::nullopt;
};

// `logits` [N, C], [N, T, C] or [N, C, ...]; `targets` integers of the logits' shape without the
// classes, in [0, C) -> a scalar, or with kNone the shape of the targets.
Tensor cross_entropy(const Tensor& logits, const IndexOperand& targets,
                     const CrossEntropyOptions& options = {});
inline Tensor cross_entropy(const Tensor& logits, const IndexOperand& targets,
                            Reduction reduction) {
  CrossEntropyOptions options;
  options.reduction = reduction;
  return cross_entropy(logits, targets, options);
}
// Targets that are probabilities, of the logits' shape, along the last axis; means and sums are
// over rows. They may take a gradient.
Tensor soft_cross_entropy(const Tensor& logits, const Tensor& probabilities,
                          Reduction reduction = Reduction::kMean);

struct NllOptions {
  Reduction reduction = Reduction::kMean;
  std::int64_t ignore_index = -100;
  Array class_weights = {};
};
// As cross_entropy, of logarithms of probabilities.
Tensor nll_loss(const Tensor& log_probabilities, const IndexOperand& targets,
                const NllOptions& options = {});

// Both operands broadcast and may take a gradient.
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::kMean);
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::kMean);
// (x - t)^2 / 2 up to |x - t| = delta > 0, linear behind.
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1.0,
                  Reduction reduction = Reduction::kMean);
// huber_loss / beta; l1_loss for beta = 0.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, double beta = 1.0,
                      Reduction reduction = Reduction::kMean);

struct BceOptions {
  Reduction reduction = Reduction::kMean;
  // Multiplies the loss of each value; broadcasts. None if undefined.
  Array weight = {};
  // For bce_with_logits: multiplies the loss of positive targets; broadcasts.
  Array positive_weight = {};
};
// Stable for any logit. Targets in [0, 1].
Tensor bce_with_logits(const Tensor& logits, const Tensor& target, const BceOptions& options = {});
// For probabilities; logarithms are clamped at -100.
Tensor bce_loss(const Tensor& probabilities, const Tensor& target, const BceOptions& options = {});

struct KlDivOptions {
  Reduction reduction = Reduction::kMean;
  // The target holds logarithms too.
  bool log_target = false;
  // Divide the sum by the first dimension instead ("batchmean"): the mathematical divergence.
  bool batch_mean = false;
};
// target (ln target - x): x are logarithms of probabilities.
Tensor kl_div(const Tensor& x, const Tensor& target, const KlDivOptions& options = {});

// sum(a b) / sqrt(max(sum(a a) sum(b b), epsilon^2)) along `axis`; shapes broadcast.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int axis = 1, double epsilon = 1e-8);

struct CtcOptions {
  Reduction reduction = Reduction::kMean;
  std::int64_t blank = 0;
  // Losses of samples whose target cannot be written in their length are 0 instead of infinite.
  bool zero_infinity = false;
};
// Connectionist temporal classification. `log_probabilities` [T, N, C], `targets` [N, S] padded,
// `input_lengths` and `target_lengths` [N]. kMean divides each loss by its target's length (at
// least 1) and averages over the samples.
Tensor ctc_loss(const Tensor& log_probabilities, const IndexOperand& targets,
                const IndexOperand& input_lengths, const IndexOperand& target_lengths,
                const CtcOptions& options = {});

}  // namespace weft
