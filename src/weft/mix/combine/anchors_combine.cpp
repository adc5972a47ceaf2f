// anchors: the mean of the miners' deltas; members get the mean of all members' latest gradients,
// as anchors measured them, beside the next version.
//
// A version whose members were all anchors moves nothing. A member that was never an anchor is not
// in the mean; the gradient of one that is lost stays in it.
// IMPLEMENTATION: Wu, Guo, Qu, He, Liu and Gao, "Anchor sampling for federated learning with
// partial client participation", ICML 2023 (FedAMD). The gradients that come for a version are
// given from the next one on. Memory: a vector for each member, and their mean.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "weft/mix/combine/mix_combine_def.h"

namespace weft {
namespace {

class AnchorsCombine final : public MixCombineState {
 public:
  void combine(const MixInput& input, std::span<float> out) override {
    std::vector<std::span<const float>> mined;
    std::vector<double> weights;
    for (std::size_t i = 0; i < input.deltas.size(); ++i) {
      if (!input.anchors.empty() && input.anchors[i]) {
        measured_[input.from[i]].assign(input.deltas[i].begin(), input.deltas[i].end());
      } else {
        mined.push_back(input.deltas[i]);
        weights.push_back(input.weights[i]);
      }
    }
    // What the trigger thinks of a delta beside the number of those that came.
    const double all = static_cast<double>(input.deltas.size());
    for (double& weight : weights) weight *= all / static_cast<double>(mined.size());
    weighted_sum(mined, weights, out);
    set_mean(out.size());
  }
  std::shared_ptr<const std::vector<float>> beside() const override { return mean_; }

 private:
  void set_mean(std::size_t elements) {
    std::vector<std::span<const float>> gradients;
    for (const auto& [member, gradient] : measured_) gradients.emplace_back(gradient);
    const std::vector<double> weights(gradients.size(), 1 / static_cast<double>(gradients.size()));
    std::vector<float> mean(elements);
    weighted_sum(gradients, weights, mean);
    mean_ = std::make_shared<const std::vector<float>>(std::move(mean));
  }

  std::map<std::uint32_t, std::vector<float>> measured_;
  std::shared_ptr<const std::vector<float>> mean_;
};

}  // namespace

extern const MixCombineDef anchors_combine = {
    .name = "anchors",
    .summary =
        "The miners' mean delta, and the anchors' mean gradient for the next version (Wu "
        "et al. 2023, FedAMD).",
    .make = [](std::span<const double> /*options*/, int /*liars*/)
        -> std::unique_ptr<MixCombineState> { return std::make_unique<AnchorsCombine>(); },
    .remembers = true,
    .needs_server = true,
    .gives_beside = true,
};

}  // namespace weft
