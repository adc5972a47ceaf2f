// krum: the update that lies nearest to its neighbours, and multi_krum: the mean of several such.
//
// Distances are squared and there are n - f - 2 neighbours, as in the paper; some libraries count
// n - f - 1, which the option gives.
#include <numeric>

#include "weft/aggregate/aggregator_def.h"
#include "weft/aggregate/krum_scores.h"

namespace weft {
namespace {

constexpr Option kNeighbours = {
    .name = "neighbours",
    .max = kAggregatorMembersMax,
    .whole = true,
    .help = "How many of the nearest other updates a score is the sum of; 0: n - f - 2.",
};
constexpr Option kKrumOptions[] = {kNeighbours};
constexpr Option kMultiKrumOptions[] = {
    kNeighbours,
    {.name = "keep",
     .max = kAggregatorMembersMax,
     .whole = true,
     .help = "The number of updates with the best scores whose mean is taken; 0: n - f - 2."},
};

int krum_least(int liars) { return 2 * liars + 3; }

WeightMatrix mean_of_best(const RuleInput& input, const Distances& distances, int keep) {
  std::vector<int> members(static_cast<std::size_t>(input.inputs));
  std::iota(members.begin(), members.end(), 0);
  const auto asked = static_cast<int>(input.options[0]);
  const int neighbours = asked > 0 ? asked : input.inputs - input.liars - 2;
  WeightMatrix weights(1, input.inputs);
  for (const int member : smallest(krum_scores(distances, members, neighbours), keep)) {
    weights.at(0, member) = 1.0 / keep;
  }
  return weights;
}

WeightMatrix krum_select(const RuleInput& input, const Distances& distances) {
  return mean_of_best(input, distances, 1);
}

WeightMatrix multi_krum_select(const RuleInput& input, const Distances& distances) {
  const auto asked = static_cast<int>(input.options[1]);
  const int keep = asked > 0 ? asked : input.inputs - input.liars - 2;
  return mean_of_best(input, distances, std::min(keep, input.inputs));
}

int one_row(const RuleInput& /*input*/) { return 1; }

}  // namespace

extern const AggregatorDef krum_aggregator = {
    .name = "krum",
    .summary = "The update with the nearest neighbours (Blanchard et al. 2017).",
    .least = krum_least,
    .least_text = "2 f + 3",
    .options = kKrumOptions,
    .select = krum_select,
    .rows = one_row,
    .needs_distances = true,
};

extern const AggregatorDef multi_krum_aggregator = {
    .name = "multi_krum",
    .summary = "The mean of the updates with the nearest neighbours (Blanchard et al. 2017).",
    .least = krum_least,
    .least_text = "2 f + 3",
    .options = kMultiKrumOptions,
    .select = multi_krum_select,
    .rows = one_row,
    .needs_distances = true,
};

}  // namespace weft
