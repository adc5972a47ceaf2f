// foolsgold: members who pull in one direction again and again count as one identity each other's.
//
// Sybils of one person serve one aim, so the sums of all that each has sent are alike; those of
// honest members, whose data differ, are not. The weight of a member falls with its largest cosine
// to another's sum, which is reduced first for those who are less alike to their nearest than that
// one is to its own. It needs no number of liars, and works against two or more of them; a liar
// that is alone looks like an honest member, and honest members with the same data look like
// sybils.
//
// The weights scale shares of what the trigger gives all together, so that a step keeps its length,
// as in SybilWall; in the paper the step grows shorter. All elements count, not those of an output
// layer alone. Deltas that are not finite do not count and are not remembered.
// Memory: a vector for each member.
// IMPLEMENTATION: Fung, Yoon and Beschastnikh, "The limitations of federated learning in Sybil
// settings", RAID 2020, algorithm 1.
#include <map>
#include <numeric>
#include <vector>

#include "weft/mix/combine/likeness.h"
#include "weft/mix/combine/mix_combine_def.h"

namespace weft {
namespace {

class FoolsgoldCombine final : public MixCombineState {
 public:
  void combine(const MixInput& input, std::span<float> out) override {
    std::vector<double> weights = input.weights;
    for (std::size_t i = 0; i < input.deltas.size(); ++i) {
      if (!remember(input.from[i], input.deltas[i])) weights[i] = 0;
    }
    const std::map<std::uint32_t, double> trust = trusts();
    double kept = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] == 0) continue;
      weights[i] *= trust.at(input.from[i]);
      kept += weights[i];
    }
    const double all = std::reduce(input.weights.begin(), input.weights.end());
    std::vector<std::span<const float>> deltas;
    std::vector<double> shares;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] == 0) continue;
      deltas.push_back(input.deltas[i]);
      shares.push_back(weights[i] * all / kept);
    }
    weighted_sum(deltas, shares, out);
  }

 private:
  // False: it is not finite.
  bool remember(std::uint32_t member, std::span<const float> delta) {
    if (!has_finite_length(delta)) return false;
    std::vector<float>& sum = sums_[member];
    sum.resize(delta.size());
    for (std::size_t i = 0; i < delta.size(); ++i) sum[i] += delta[i];
    return true;
  }

  std::map<std::uint32_t, double> trusts() const {
    std::vector<std::span<const float>> sums;
    for (const auto& [member, sum] : sums_) sums.emplace_back(sum);
    const std::vector<double> trust = trust_by_likeness(sums);
    std::map<std::uint32_t, double> by_member;
    auto next = trust.begin();
    for (const auto& [member, sum] : sums_) by_member[member] = *next++;
    return by_member;
  }

  // Sums of all that each member has sent.
  std::map<std::uint32_t, std::vector<float>> sums_;
};

}  // namespace

extern const MixCombineDef foolsgold_combine = {
    .name = "foolsgold",
    .summary =
        "Members whose deltas were alike in all rounds count little (Fung et al. 2020, "
        "FoolsGold).",
    .make = [](std::span<const double> /*options*/, int /*liars*/)
        -> std::unique_ptr<MixCombineState> { return std::make_unique<FoolsgoldCombine>(); },
    .remembers = true,
};

}  // namespace weft
