// mean: the sum of the deltas by the trigger's weights.
#include "weft/mix/combine/mix_combine_def.h"

namespace weft {
namespace {

class MeanCombine final : public MixCombineState {
 public:
  void combine(const MixInput& input, std::span<float> out) override {
    weighted_sum(input.deltas, input.weights, out);
  }
};

}  // namespace

extern const MixCombineDef mean_combine = {
    .name = "mean",
    .summary = "The deltas by the trigger's weights.",
    .make = [](std::span<const double> /*options*/, int /*liars*/)
        -> std::unique_ptr<MixCombineState> { return std::make_unique<MeanCombine>(); },
};

}  // namespace weft
