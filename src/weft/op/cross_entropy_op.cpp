// cross_entropy: sum or mean over rows of ln sum e^x - x[target]; dx = softmax(x) - one_hot.
#include <cmath>

#include "weft/kernel/softmax.h"
#include "weft/op/loss.h"
#include "weft/op/operands.h"
#include "weft/op/sample.h"

namespace weft {

Tensor cross_entropy(const Tensor& logits, const Array& targets,
                     const CrossEntropyOptions& options) {
  check_floating("cross_entropy", logits);
  if (logits.ndim() != 2) {
    throw_operand("cross_entropy", "logits of shape [N, C]", to_string(logits.shape()));
  }
  if (!targets.defined() || targets.dtype() != DType::kI64) {
    throw_operand("cross_entropy", "i64 targets",
                  targets.defined() ? std::string(to_string(targets.dtype())) : "none");
  }
  if (targets.ndim() != 1 || targets.dim(0) != logits.dim(0)) {
    throw_operand("cross_entropy", "targets of shape [" + std::to_string(logits.dim(0)) + "]",
                  to_string(targets.shape()));
  }
  const bool is_mean = options.reduction == Reduction::kMean;
  const double scale = is_mean ? options.scale / static_cast<double>(logits.dim(0)) : options.scale;
  const Array classes = targets.contiguous();
  CrossEntropyRows rows = cross_entropy_rows(logits.array(), classes, recording({&logits}));
  Array loss = Array::full({}, rows.loss_sum * scale, logits.dtype());
  return record("cross_entropy", std::move(loss), {&logits},
                [probabilities = std::move(rows.probabilities), classes, scale](
                    const Array& dy, const InputGradients& dx) {
                  dx.add(0, cross_entropy_rows_gradient(probabilities, classes, scale * dy.item()));
                });
}

static Array reference(std::span<const Array> in, const CrossEntropyOptions& options) {
  const std::int64_t rows = in[0].dim(0);
  const std::int64_t count = in[0].dim(1);
  double loss = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const double* const x = in[0].data<double>() + i * count;
    double total = 0;
    for (std::int64_t j = 0; j < count; ++j) total += std::exp(x[j]);
    loss += std::log(total) - x[in[1].data<std::int64_t>()[i]];
  }
  if (options.reduction == Reduction::kMean) loss /= static_cast<double>(rows);
  return Array::full({}, loss * options.scale, DType::kF64);
}

static std::vector<OpSample> samples() {
  const auto sample = [](const char* name, std::int64_t rows, std::int64_t classes,
                         CrossEntropyOptions options) {
    std::vector<std::int64_t> targets(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < targets.size(); ++i) {
      targets[i] = static_cast<std::int64_t>(i * 7 + 3) % classes;
    }
    return OpSample{name,
                    {sample_values({rows, classes}, 41, -4.0, 4.0), Array::from(targets, {rows})},
                    [options](std::span<const Tensor> in) {
                      return cross_entropy(in[0], in[1].array(), options);
                    },
                    [options](std::span<const Array> in) { return reference(in, options); }};
  };
  return {sample("mean", 5, 10, {}), sample("sum", 3, 7, {Reduction::kSum, 1.0}),
          sample("scaled sum", 4, 3, {Reduction::kSum, 1.0 / 64}), sample("one element", 1, 1, {}),
          sample("no rows", 0, 4, {Reduction::kSum, 1.0})};
}
extern const OpDef cross_entropy_op = {"cross_entropy", samples};

}  // namespace weft
