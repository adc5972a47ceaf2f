// sybilwall: neighbours mix, and those whose models moved alike from the beginning on count as one
// person's, be they neighbours of this member or of others.
//
// A member keeps the newest model that it knows of each other one: its neighbours' own, and that of
// a member further away which a neighbour reports in each round beside its model. So Sybils that
// stand at different members are seen together. What each has moved by since the first model is
// compared (likeness.h), the neighbours' models count by their weights and the own one with 1, over
// the sum.
//
//   sent    one model for each neighbour and round, drawn with a probability that falls with the
//           distance d as exp(-(d - 1) / 1.25); not the neighbour's own, nor what came from there
//   taken   replaces what is known of a member where that came from further away than its
//           neighbours and is older
//
// IMPLEMENTATION: Werthenbach and Pouwelse, "Towards Sybil resilience in decentralized learning",
// 2023. A sum of successive models' differences is the newest model minus the first one, which is
// what is kept here: a round that is missing changes nothing. Differs: distances, and the members'
// graph weights do not take part; the weights of members far away are left out before the sum of
// all is made 1. Reports are not signed, so that a member can lie about one that is far away:
// it can make an honest member look like that one, as it can with its own model.
// Memory: a model for each member of which this one knows.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "weft/base/check.h"
#include "weft/base/rng.h"
#include "weft/mix/combine/likeness.h"
#include "weft/mix/combine/mix_combine_def.h"

namespace weft {
namespace {

constexpr Option kSybilwallOptions[] = {
    {.name = "reach",
     .fallback = 1.25,
     .min = 0.01,
     .max = 1000,
     .help = "A member that is one link further away is reported exp(-1 / reach) times as often."},
};

std::vector<float> difference_of(std::span<const float> a, std::span<const float> b) {
  std::vector<float> out(a.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = a[i] - b[i];
  return out;
}

class SybilwallCombine final : public MixCombineState {
 public:
  explicit SybilwallCombine(double reach) : reach_(reach) {}

  void combine(const MixInput& input, std::span<float> out) override {
    if (first_.empty()) first_.assign(input.reference.begin(), input.reference.end());
    self_ = input.self;
    for (std::size_t i = 0; i < input.deltas.size(); ++i) {
      if (input.from[i] == input.self) continue;
      auto model = std::make_shared<const std::vector<float>>(
          difference_of(input.reference, input.deltas[i]));
      known_[input.from[i]] = {{input.from[i], input.version, 1, std::move(model)}, input.from[i]};
    }
    const std::map<std::uint32_t, double> trust = trusts();
    std::vector<std::span<const float>> deltas;
    std::vector<double> weights;
    double all = 0;
    for (std::size_t i = 0; i < input.deltas.size(); ++i) {
      const bool own = input.from[i] == input.self;
      const auto found = trust.find(input.from[i]);
      const double weight = own ? 1 : found == trust.end() ? 0 : found->second;
      if (weight == 0) continue;
      deltas.push_back(input.deltas[i]);
      weights.push_back(weight);
      all += weight;
    }
    for (double& weight : weights) weight /= all;
    weighted_sum(deltas, weights, out);
  }

  std::optional<MixHistory> told_to(std::uint32_t neighbour, std::uint64_t version) override {
    double all = 0;
    std::vector<std::pair<double, const MixHistory*>> likely;
    for (const auto& [member, known] : known_) {
      if (member == neighbour || known.teller == neighbour) continue;
      all += std::exp((1 - static_cast<double>(known.history.distance)) / reach_);
      likely.emplace_back(all, &known.history);
    }
    if (likely.empty()) return std::nullopt;
    const double drawn = all * Rng(std::uint64_t{self_} << 32U | neighbour, version).uniform();
    for (const auto& [until, history] : likely) {
      if (drawn < until) return *history;
    }
    return *likely.back().second;
  }

  void hear(std::uint32_t neighbour, const MixHistory& history) override {
    // No path is that long.
    if (history.distance >= kDistanceMax || history.origin == neighbour) return;
    const auto found = known_.find(history.origin);
    const bool is_newer = found == known_.end() || (found->second.history.distance > 1 &&
                                                    found->second.history.round < history.round);
    if (!is_newer) return;
    known_[history.origin] = {{history.origin, history.round, history.distance + 1, history.model},
                              neighbour};
  }

 private:
  static constexpr std::uint32_t kDistanceMax = 1U << 16U;

  struct Known {
    MixHistory history;
    std::uint32_t teller = 0;  // the origin itself, where that is a neighbour
  };

  // By member; those whose models are finite.
  std::map<std::uint32_t, double> trusts() const {
    std::vector<std::uint32_t> members;
    std::vector<std::vector<float>> moved;
    for (const auto& [member, known] : known_) {
      if (member == self_) continue;
      std::vector<float> way = difference_of(*known.history.model, first_);
      if (!has_finite_length(way)) continue;
      members.push_back(member);
      moved.push_back(std::move(way));
    }
    const std::vector<std::span<const float>> ways(moved.begin(), moved.end());
    const std::vector<double> trust = trust_by_likeness(ways);
    std::map<std::uint32_t, double> by_member;
    for (std::size_t i = 0; i < members.size(); ++i) by_member[members[i]] = trust[i];
    return by_member;
  }

  const double reach_;
  std::uint32_t self_ = 0;
  std::vector<float> first_;
  std::map<std::uint32_t, Known> known_;
};

}  // namespace

extern const MixCombineDef sybilwall_combine = {
    .name = "sybilwall",
    .summary =
        "Neighbours that moved as others did, near or far, count little (Werthenbach and Pouwelse "
        "2023, SybilWall).",
    .options = kSybilwallOptions,
    .make = [](std::span<const double> options, int /*liars*/) -> std::unique_ptr<MixCombineState> {
      return std::make_unique<SybilwallCombine>(options[0]);
    },
    .tells_histories = true,
    .remembers = true,
};

}  // namespace weft
