// clip: no update is longer than a given norm, and arc: than one that the others' norms give.
#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/aggregate/aggregator_def.h"
#include "weft/aggregate/krum_scores.h"

namespace weft {
namespace {

constexpr Option kClipOptions[] = {
    {.name = "norm",
     .fallback = 1,
     .min = 1e-300,
     .max = 1e300,
     .help = "The longest that an update may be, in its own unit."},
};

std::vector<double> norms_of(const Distances& distances) {
  std::vector<double> norms;
  norms.reserve(static_cast<std::size_t>(distances.members()));
  for (int i = 0; i < distances.members(); ++i) norms.push_back(std::sqrt(distances.norm(i)));
  return norms;
}

// An update that is not finite has the weight 0.
double scale_to(double longest, double norm) { return norm > longest ? longest / norm : 1; }

WeightMatrix clip_select(const RuleInput& input, const Distances& distances) {
  const std::vector<double> norms = norms_of(distances);
  WeightMatrix weights(input.inputs, input.inputs);
  for (int i = 0; i < input.inputs; ++i) {
    weights.at(i, i) = scale_to(input.options[0], norms[static_cast<std::size_t>(i)]);
  }
  return weights;
}

WeightMatrix arc_select(const RuleInput& input, const Distances& distances) {
  const std::vector<double> norms = norms_of(distances);
  const int clipped = 2 * input.liars * (input.inputs - input.liars) / input.inputs;
  const std::vector<int> order = smallest(norms, input.inputs);
  const auto last = static_cast<std::size_t>(input.inputs - clipped - 1);
  const double longest = norms[static_cast<std::size_t>(order[last])];
  WeightMatrix weights = WeightMatrix::identity(input.inputs);
  for (std::size_t at = last + 1; at < order.size(); ++at) {
    weights.at(order[at], order[at]) =
        scale_to(longest, norms[static_cast<std::size_t>(order[at])]);
  }
  return weights;
}

}  // namespace

extern const AggregatorDef clip_aggregator = {
    .name = "clip",
    .summary = "Shortens updates to a norm, before another rule.",
    .least = more_than_half,
    .least_text = "2 f + 1",
    .options = kClipOptions,
    .select = clip_select,
    .needs_distances = true,
};

extern const AggregatorDef arc_aggregator = {
    .name = "arc",
    .summary =
        "Shortens the 2 f (n - f) / n longest updates to the norm of the next, before another "
        "rule (Allouah et al. 2024).",
    .least = more_than_half,
    .least_text = "2 f + 1",
    .select = arc_select,
    .needs_distances = true,
};

}  // namespace weft
