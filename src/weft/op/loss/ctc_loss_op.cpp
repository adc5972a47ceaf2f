// ctc_loss: minus the log-probability of the target sequences; the gradient is minus the
// probability of each class in each frame, given the target.
#include <cmath>
#include <limits>

#include "weft/kernel/elementwise/elementwise.h"
#include "weft/kernel/reduce/ctc.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/index_samples.h"
#include "weft/op/core/operands.h"
#include "weft/op/loss.h"
#include "weft/op/reduce.h"

namespace weft {

static void check_shapes(const Tensor& x, const CtcInput& input, std::int64_t blank) {
  if (x.ndim() != 3) {
    throw_operand("ctc_loss", "log-probabilities [T, N, C]", to_string(x.shape()));
  }
  const Shape ctc_loss_samples{x.dim(1)};
  if (input.targets.ndim() != 2 || input.targets.dim(0) != x.dim(1)) {
    throw_operand("ctc_loss", "targets [" + std::to_string(x.dim(1)) + ", S]",
                  to_string(input.targets.shape()));
  }
  for (const Array* lengths : {&input.input_lengths, &input.target_lengths}) {
    if (lengths->shape() == ctc_loss_samples) continue;
    throw_operand("ctc_loss", "lengths of shape " + to_string(ctc_loss_samples),
                  to_string(lengths->shape()));
  }
  if (blank < 0 || blank >= x.dim(2)) {
    throw_operand("ctc_loss", "a blank in [0, " + std::to_string(x.dim(2)) + ")",
                  std::to_string(blank));
  }
}

Tensor ctc_loss(const Tensor& log_probabilities, const IndexOperand& targets,
                const IndexOperand& input_lengths, const IndexOperand& target_lengths,
                const CtcOptions& options) {
  check_floating("ctc_loss", log_probabilities);
  const DType dtype = log_probabilities.dtype();
  const DType wide = dtype == DType::kF64 ? dtype : DType::kF32;
  const CtcInput input{log_probabilities.array().to(wide), targets.indexes("ctc_loss", "targets"),
                       input_lengths.indexes("ctc_loss", "input lengths"),
                       target_lengths.indexes("ctc_loss", "target lengths")};
  check_shapes(log_probabilities, input, options.blank);
  const CtcRows rows =
      ctc_rows(input, {options.blank, options.zero_infinity}, recording({&log_probabilities}));
  Tensor losses =
      record("ctc_loss", rows.losses.to(dtype), {&log_probabilities},
             [posteriors = rows.posteriors, dtype](const Array& dy, const InputGradients& dx) {
               const Array factor = unary(UnaryOp::kNeg, dy.strided().to(posteriors.dtype()));
               dx.add(0, binary(BinaryOp::kMul, posteriors, factor.unsqueeze(-1)).to(dtype));
             });
  if (options.reduction == Reduction::kNone) return losses;
  if (options.reduction == Reduction::kSum) return sum(losses);
  const Tensor one(Array::full({}, 1, dtype, log_probabilities.device()));
  return mean(losses / maximum(Tensor(input.target_lengths.to(dtype)), one));
}

// What is left of a path without repeats and blanks.
static std::vector<std::int64_t> collapsed(const std::vector<std::int64_t>& path) {
  std::vector<std::int64_t> labels;
  for (std::size_t t = 0; t < path.size(); ++t) {
    if (path[t] != 0 && (t == 0 || path[t] != path[t - 1])) labels.push_back(path[t]);
  }
  return labels;
}

// Sums over all C^T paths of the sample; blank is 0.
static double enumerate(const Array& x, std::int64_t n, std::int64_t frames,
                        const std::vector<std::int64_t>& target) {
  const std::int64_t classes = x.dim(2);
  std::vector<std::int64_t> path(static_cast<std::size_t>(frames), 0);
  double total = 0;
  while (true) {
    if (collapsed(path) == target) {
      double sum = 0;
      for (std::int64_t t = 0; t < frames; ++t) {
        sum += x.data<double>()[(t * x.dim(1) + n) * classes + path[static_cast<std::size_t>(t)]];
      }
      total += std::exp(sum);
    }
    std::size_t t = 0;
    while (t < path.size() && ++path[t] == classes) path[t++] = 0;
    if (t == path.size()) return -std::log(total);
  }
}

static Array ctc_loss_reference(std::span<const Array> in, Reduction reduction) {
  const std::int64_t count = in[0].dim(1);
  Array losses = Array::empty({count}, DType::kF64);
  double mean = 0;
  double sum = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t* const row = in[1].data<std::int64_t>() + n * in[1].dim(1);
    const std::int64_t length = in[3].data<std::int64_t>()[n];
    const double loss = enumerate(in[0], n, in[2].data<std::int64_t>()[n], {row, row + length});
    losses.data<double>()[n] = loss;
    sum += loss;
    mean += loss / static_cast<double>(std::max<std::int64_t>(1, length) * count);
  }
  if (reduction == Reduction::kNone) return losses;
  return Array::full({}, reduction == Reduction::kMean ? mean : sum, DType::kF64);
}

static std::vector<OpSample> ctc_loss_samples() {
  const auto integers = [](const std::vector<std::int64_t>& values, const Shape& shape) {
    return Array::from(values, shape);
  };
  const auto sample = [&](const char* name, Reduction reduction, const Shape& shape,
                          const std::vector<Array>& labels) {
    return OpSample{
        name,
        {sample_values(shape, 641, -3, 0), labels[0], labels[1], labels[2]},
        [reduction](std::span<const Tensor> in) {
          return ctc_loss(in[0], in[1], in[2], in[3], {.reduction = reduction});
        },
        [reduction](std::span<const Array> in) { return ctc_loss_reference(in, reduction); }};
  };
  const std::vector<Array> three = {integers({1, 2, 2, 2, 3, 0}, {3, 2}), integers({5, 4, 3}, {3}),
                                    integers({2, 2, 1}, {3})};
  return {sample("mean", Reduction::kMean, {5, 3, 4}, three),
          sample("sum", Reduction::kSum, {5, 3, 4}, three),
          sample("each", Reduction::kNone, {5, 3, 4}, three),
          sample("one element", Reduction::kNone, {1, 1, 2},
                 {integers({1}, {1, 1}), integers({1}, {1}), integers({1}, {1})}),
          sample("no samples", Reduction::kNone, {3, 0, 5},
                 {integers({}, {0, 2}), integers({}, {0}), integers({}, {0})}),
          sample("empty target", Reduction::kSum, {3, 1, 3},
                 {integers({1}, {1, 1}), integers({3}, {1}), integers({0}, {1})})};
}
extern const OpDef ctc_loss_op = {"ctc_loss", ctc_loss_samples};

}  // namespace weft
