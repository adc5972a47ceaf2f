// centered_clip: a point that moves to the updates' mean, to which none adds more than a bound.
//
// A point starts at the origin: rules keep nothing between rounds, where the paper starts from the
// last round's result. Updates out of reach (Distances::within_reach) do not move it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/aggregate/aggregator_def.h"

namespace weft {
namespace {

constexpr Option kCenteredClipOptions[] = {
    {.name = "norm",
     .fallback = 10,
     .min = 1e-300,
     .max = 1e300,
     .help = "How far one update may draw the point in a step, times the number of updates; in the "
             "unit of the updates."},
    {.name = "rounds",
     .fallback = 3,
     .min = 1,
     .max = 10000,
     .whole = true,
     .help = "Steps, the first from the origin."},
};

// v += 1/n sum of (x_i - v) min(1, norm / |x_i - v|).
WeightMatrix centered_clip_select(const RuleInput& input, const Distances& distances) {
  WeightMatrix point(1, input.inputs);
  const std::vector<double> within = distances.within_reach();
  for (int round = 0; round < static_cast<int>(input.options[1]); ++round) {
    const std::vector<double> far = distances.from_sum(point.row(0));
    double kept = 1;
    std::vector<double> drawn;
    for (std::size_t i = 0; i < far.size(); ++i) {
      const double distance = std::sqrt(far[i]);
      const double scale = distance > input.options[0] ? input.options[0] / distance : 1;
      drawn.push_back(within[i] * scale / input.inputs);
      kept -= drawn.back();
    }
    for (int i = 0; i < input.inputs; ++i) {
      point.at(0, i) = kept * point.at(0, i) + drawn[static_cast<std::size_t>(i)];
    }
  }
  return point;
}

}  // namespace

extern const AggregatorDef centered_clip_aggregator = {
    .name = "centered_clip",
    .summary =
        "Steps to the mean, in which no update counts for more than a bound (Karimireddy et "
        "al. 2021).",
    .least = more_than_half,
    .least_text = "2 f + 1",
    .options = kCenteredClipOptions,
    .select = centered_clip_select,
    .rows = [](const RuleInput& /*input*/) { return 1; },
    .needs_distances = true,
};

}  // namespace weft
