// nnm: each update becomes the mean of its n - f nearest, itself included; before another rule.
#include <vector>

#include "weft/aggregate/aggregator_def.h"
#include "weft/aggregate/krum_scores.h"

namespace weft {
namespace {

WeightMatrix nnm_select(const RuleInput& input, const Distances& distances) {
  const int keep = input.inputs - input.liars;
  WeightMatrix weights(input.inputs, input.inputs);
  std::vector<double> far(static_cast<std::size_t>(input.inputs));
  for (int row = 0; row < input.inputs; ++row) {
    for (int other = 0; other < input.inputs; ++other) {
      far[static_cast<std::size_t>(other)] = distances.between(row, other);
    }
    for (const int near : smallest(far, keep)) weights.at(row, near) = 1.0 / keep;
  }
  return weights;
}

}  // namespace

extern const AggregatorDef nnm_aggregator = {
    .name = "nnm",
    .summary =
        "Mixes each update with its n - f nearest, before another rule: members whose data "
        "differ need it (Allouah et al. 2023).",
    .least = more_than_half,
    .least_text = "2 f + 1",
    .select = nnm_select,
    .needs_distances = true,
};

}  // namespace weft
