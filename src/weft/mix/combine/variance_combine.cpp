// variance: the mean model, each tensor of which has the members' mean variance again.
//
// The mean of n models that have little in common has a variance n times smaller than theirs, which
// stops the signal in deep networks. Each tensor is scaled around its mean value to the members'
// mean variance. Buffers and tensors of fewer than two elements are the plain mean.
// IMPLEMENTATION: Tian, Al-Ars, Kitsak and Hofstee, "Vanishing variance problem in fully
// decentralized neural-network systems", 2024; the variance is the unbiased one, with 1e-4 added to
// both under the root.
#include <cmath>
#include <numeric>
#include <vector>

#include "weft/mix/combine/mix_combine_def.h"

namespace weft {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
};

// Those of `value(i)` for the elements of a tensor that has at least two.
template <class Value>
Moments moments(const MixTensor& tensor, const Value& value) {
  const auto count = static_cast<double>(tensor.end - tensor.begin);
  Moments found;
  for (std::size_t i = tensor.begin; i < tensor.end; ++i) found.mean += value(i);
  found.mean /= count;
  for (std::size_t i = tensor.begin; i < tensor.end; ++i) {
    const double away = value(i) - found.mean;
    found.variance += away * away;
  }
  found.variance /= count - 1;
  return found;
}

class VarianceCombine final : public MixCombineState {
 public:
  explicit VarianceCombine(double damping) : damping_(damping) {}

  void combine(const MixInput& input, std::span<float> out) override {
    weighted_sum(input.deltas, input.weights, out);
    for (const MixTensor& tensor : input.tensors) {
      if (tensor.trained && tensor.end - tensor.begin >= 2) correct(input, tensor, out);
    }
  }

 private:
  void correct(const MixInput& input, const MixTensor& tensor, std::span<float> out) const {
    const auto model = [&](std::span<const float> delta) {
      return [&input, delta](std::size_t i) {
        return static_cast<double>(input.reference[i]) - static_cast<double>(delta[i]);
      };
    };
    double wanted = 0;
    for (const std::span<const float> delta : input.deltas) {
      wanted += moments(tensor, model(delta)).variance;
    }
    wanted /= static_cast<double>(input.deltas.size());
    const Moments mean = moments(tensor, model(out));
    const double scale = std::sqrt((wanted + damping_) / (mean.variance + damping_));
    for (std::size_t i = tensor.begin; i < tensor.end; ++i) {
      const double value = model(out)(i);
      const double corrected = (value - mean.mean) * scale + mean.mean;
      out[i] = static_cast<float>(static_cast<double>(input.reference[i]) - corrected);
    }
  }

  const double damping_;
};

constexpr Option kVarianceOptions[] = {
    {.name = "damping",
     .fallback = 1e-4,
     .min = 0,
     .max = 1,
     .help = "Added to both variances; keeps small tensors as they are."},
};

}  // namespace

extern const MixCombineDef variance_combine = {
    .name = "variance",
    .summary =
        "The mean model with the members' mean variance in each tensor (Tian et al. "
        "2024).",
    .options = kVarianceOptions,
    .make = [](std::span<const double> options, int /*liars*/) -> std::unique_ptr<MixCombineState> {
      return std::make_unique<VarianceCombine>(options[0]);
    },
};

}  // namespace weft
