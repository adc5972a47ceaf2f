// geometric_median: the point with the least sum of distances to all updates, by Weiszfeld's
// iteration, which is a weighted sum of the updates at each step. An update whose norm is so much
// larger than the median norm that double cannot hold both distances is left out.
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

constexpr double kNormsApart = 1e8;

// 1 for each update that is not left out.
std::vector<double> within_reach(const Distances& distances) {
  std::vector<double> norms;
  norms.reserve(static_cast<std::size_t>(distances.members()));
  for (int i = 0; i < distances.members(); ++i) norms.push_back(std::sqrt(distances.norm(i)));
  std::vector<double> sorted = norms;
  std::ranges::sort(sorted);
  const double longest = kNormsApart * sorted[(sorted.size() - 1) / 2];
  for (double& norm : norms) norm = norm <= longest ? 1 : 0;
  return norms;
}

WeightMatrix geometric_median_select(const RuleInput& input, const Distances& distances) {
  // Row 0 is the point; the others are the updates.
  WeightMatrix points(1 + input.inputs, input.inputs);
  for (int i = 0; i < input.inputs; ++i) points.at(1 + i, i) = 1;
  WeightMatrix point(1, input.inputs);
  const std::vector<double> within = within_reach(distances);
  for (int round = 0; round < static_cast<int>(input.options[0]); ++round) {
    for (int i = 0; i < input.inputs; ++i) points.at(0, i) = point.at(0, i);
    const Distances far = distances.of(points);
    double total = 0;
    for (int i = 0; i < input.inputs; ++i) {
      const double distance = std::max(input.options[1], std::sqrt(far.between(0, 1 + i)));
      const double weight = within[static_cast<std::size_t>(i)] / distance;
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
