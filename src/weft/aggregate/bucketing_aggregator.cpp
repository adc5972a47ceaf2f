// bucketing: means of a few updates drawn together, before another rule.
#include <algorithm>
#include <numeric>
#include <vector>

#include "weft/aggregate/aggregator_def.h"
#include "weft/base/rng.h"

namespace weft {
namespace {

constexpr Option kBucketingOptions[] = {
    {.name = "size",
     .fallback = 2,
     .min = 1,
     .max = kAggregatorMembersMax,
     .whole = true,
     .help = "The number of updates in each mean; the last may have fewer."},
};

int bucketing_rows(const RuleInput& input) {
  const auto size = static_cast<int>(input.options[0]);
  return (input.inputs + size - 1) / size;
}

WeightMatrix bucketing_select(const RuleInput& input, const Distances& /*distances*/) {
  std::vector<int> order(static_cast<std::size_t>(input.inputs));
  std::iota(order.begin(), order.end(), 0);
  Rng rng(input.seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  const auto size = static_cast<int>(input.options[0]);
  WeightMatrix weights(bucketing_rows(input), input.inputs);
  for (int i = 0; i < input.inputs; ++i) {
    const int row = i / size;
    const int in_bucket = std::min(size, input.inputs - row * size);
    weights.at(row, order[static_cast<std::size_t>(i)]) = 1.0 / in_bucket;
  }
  return weights;
}

}  // namespace

extern const AggregatorDef bucketing_aggregator = {
    .name = "bucketing",
    .summary =
        "Means of updates that are drawn together, before another rule (Karimireddy et al. "
        "2022).",
    .least = more_than_half,
    .least_text = "2 f + 1",
    .options = kBucketingOptions,
    .select = bucketing_select,
    .rows = bucketing_rows,
};

}  // namespace weft
