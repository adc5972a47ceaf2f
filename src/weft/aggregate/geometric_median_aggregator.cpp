// geometric_median: the point with the least sum of distances to all updates, by Weiszfeld's
// iteration, which is a weighted sum of the updates at each step. Updates out of reach
// (Distances::within_reach) are left out.
#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/aggregate/aggregator_def.h"

namespace weft {
namespace {

constexpr Option kGeometricOptions[] = {
    {.name = "rounds",
     .fallback = 64,
     .min = 1,
     .max = 10000,
     .whole = true,
     .help = "Iterations, the first from the origin."},
    {.name = "smoothing",
     .fallback = 1e-6,
     .min = 1e-300,
     .max = 1e300,
     .help = "Distances count as at least this long, in the unit of the updates."},
};

WeightMatrix geometric_median_select(const RuleInput& input, const Distances& distances) {
  WeightMatrix point(1, input.inputs);
  const std::vector<double> within = distances.within_reach();
  for (int round = 0; round < static_cast<int>(input.options[0]); ++round) {
    const std::vector<double> far = distances.from_sum(point.row(0));
    double total = 0;
    for (int i = 0; i < input.inputs; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double distance = std::max(input.options[1], std::sqrt(far[at]));
      const double weight = within[at] / distance;
      point.at(0, i) = weight;
      total += weight;
    }
    for (int i = 0; i < input.inputs; ++i) point.at(0, i) /= total;
  }
  return point;
}

}  // namespace

extern const AggregatorDef geometric_median_aggregator = {
    .name = "geometric_median",
    .summary = "The point with the least sum of distances to all updates (Pillutla et al. 2022).",
    .least = more_than_half,
    .least_text = "2 f + 1",
    .options = kGeometricOptions,
    .select = geometric_median_select,
    .rows = [](const RuleInput& /*input*/) { return 1; },
    .needs_distances = true,
};

}  // namespace weft
