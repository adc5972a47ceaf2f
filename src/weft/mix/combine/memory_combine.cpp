// memory: the mean over the latest delta of every member, whether it came this time or not.
//
// Members that come seldom weigh as much as others, so that the result is not biased towards the
// data of fast members. A member of whom nothing has come counts as zero.
// IMPLEMENTATION: Yang, Zhang, Khanduri and Liu, "Anarchic federated learning", ICML 2022, AFA-CS.
#include <algorithm>
#include <map>
#include <vector>

#include "weft/mix/combine/mix_combine_def.h"

namespace weft {
namespace {

class MemoryCombine final : public MixCombineState {
 public:
  void combine(const MixInput& input, std::span<float> out) override {
    const auto arrived = static_cast<double>(input.deltas.size());
    for (std::size_t i = 0; i < input.deltas.size(); ++i) {
      Kept& kept = latest_[input.from[i]];
      kept.delta.assign(input.deltas[i].begin(), input.deltas[i].end());
      // What the trigger thinks of it beside the number of those that came.
      kept.weight = input.weights[i] * arrived;
    }
    std::vector<std::span<const float>> all;
    std::vector<double> weights;
    for (const auto& [member, kept] : latest_) {
      all.emplace_back(kept.delta);
      weights.push_back(kept.weight / static_cast<double>(input.members));
    }
    weighted_sum(all, weights, out);
  }

 private:
  struct Kept {
    std::vector<float> delta;
    double weight = 1;
  };
  std::map<std::uint32_t, Kept> latest_;
};

}  // namespace

extern const MixCombineDef memory_combine = {
    .name = "memory",
    .summary = "The mean over every member's latest delta (Yang et al. 2022, AFA-CS).",
    .make = [](std::span<const double> /*options*/, int /*liars*/)
        -> std::unique_ptr<MixCombineState> { return std::make_unique<MemoryCombine>(); },
    .remembers = true,
};

}  // namespace weft
