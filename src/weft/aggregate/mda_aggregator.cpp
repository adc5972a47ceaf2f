// mda: the mean of the n - f updates with the smallest diameter, the largest distance between two.
//
// Which diameter suffices is found by bisection over all distances. For one diameter, a group
// exists if at most f updates cover all pairs that are farther apart: either an update is left out,
// or all that are too far from it are. A search over these choices takes at most about 1.62^f
// steps. Where several groups are as good, the one with the lowest ranks is taken.
#include <algorithm>
#include <bitset>
#include <vector>

#include "weft/aggregate/aggregator_def.h"

namespace weft {
namespace {

// So that liars who choose distances cannot make the search long.
constexpr int kMdaLiarsMax = 16;

using Ranks = std::bitset<kAggregatorMembersMax>;
std::size_t place(int rank) { return static_cast<std::size_t>(rank); }

// Which updates are farther apart than `diameter`, squared.
class Apart {
 public:
  Apart(const Distances& distances, double diameter) : partners_(place(distances.members())) {
    for (int a = 0; a < distances.members(); ++a) {
      for (int b = 0; b < a; ++b) {
        if (distances.between(a, b) <= diameter) continue;
        partners_[place(a)].set(place(b));
        partners_[place(b)].set(place(a));
      }
    }
  }

  // The members of `among` that are too far from `rank`.
  Ranks from(int rank, const Ranks& among) const { return partners_[place(rank)] & among; }

  // Whether no two of `among` are too far from each other once at most `budget` are left out.
  bool enough(const Ranks& among, int budget) const {
    if (budget < 0) return false;
    int worst = 0;
    std::size_t most = 0;
    std::size_t ends = 0;
    for (int rank = 0; rank < static_cast<int>(partners_.size()); ++rank) {
      if (!among[place(rank)]) continue;
      const std::size_t count = from(rank, among).count();
      ends += count;
      if (count <= most) continue;
      worst = rank;
      most = count;
    }
    // One that is left out takes `most` pairs away, at most.
    if (ends / 2 > most * place(budget)) return false;
    if (most <= 1) return true;
    Ranks without = among;
    without.reset(place(worst));
    return enough(without, budget - 1) ||
           enough(among & ~partners_[place(worst)], budget - static_cast<int>(most));
  }

 private:
  std::vector<Ranks> partners_;
};

Ranks all_ranks(int members) {
  Ranks all;
  for (int rank = 0; rank < members; ++rank) all.set(place(rank));
  return all;
}

// The smallest squared diameter of a group of all updates but `liars`.
double smallest_diameter(const Distances& distances, int liars) {
  std::vector<double> diameters = {0};
  for (int a = 0; a < distances.members(); ++a) {
    for (int b = 0; b < a; ++b) diameters.push_back(distances.between(a, b));
  }
  std::ranges::sort(diameters);
  const Ranks all = all_ranks(distances.members());
  return *std::ranges::partition_point(
      diameters, [&](double diameter) { return !Apart(distances, diameter).enough(all, liars); });
}

WeightMatrix mda_select(const RuleInput& input, const Distances& distances) {
  const Apart apart(distances, smallest_diameter(distances, input.liars));
  // Each in turn is taken if the rest can still be chosen with it: its partners are left out then.
  Ranks left = all_ranks(input.inputs);
  int budget = input.liars;
  std::vector<int> group;
  const int wanted = input.inputs - input.liars;
  for (int rank = 0; static_cast<int>(group.size()) < wanted; ++rank) {
    if (!left[place(rank)]) continue;
    const Ranks partners = apart.from(rank, left);
    const int budget_with = budget - static_cast<int>(partners.count());
    if (apart.enough(left & ~partners, budget_with)) {
      left &= ~partners;
      budget = budget_with;
      group.push_back(rank);
    } else {
      left.reset(place(rank));
      --budget;
    }
  }
  WeightMatrix weights(1, input.inputs);
  for (const int member : group) weights.at(0, member) = 1.0 / wanted;
  return weights;
}

}  // namespace

extern const AggregatorDef mda_aggregator = {
    .name = "mda",
    .summary =
        "The mean of the n - f updates whose largest distance from each other is smallest "
        "(El Mhamdi et al. 2018); for up to 16 liars.",
    .least = more_than_half,
    .least_text = "2 f + 1",
    .most_liars = kMdaLiarsMax,
    .select = mda_select,
    .rows = [](const RuleInput& /*input*/) { return 1; },
    .needs_distances = true,
};

}  // namespace weft
