// winsorized_mean: of each coordinate, the f smallest and the f largest values are moved to the
// nearest value that is left; then the mean (Dixon, "Simplified estimation from censored normal
// samples", 1960).
//
// An example of a robust rule in one file; docs/HACKING.md explains each part.
#include <algorithm>
#include <numeric>

#include "weft/aggregate/aggregator_def.h"

namespace weft {
namespace {

float winsorized_mean_of(std::span<float> values, std::size_t cut) {
  std::ranges::sort(values);
  std::ranges::fill(values.first(cut), values[cut]);
  std::ranges::fill(values.last(cut), values[values.size() - 1 - cut]);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return static_cast<float>(sum / static_cast<double>(values.size()));
}

}  // namespace

extern const AggregatorDef winsorized_mean_aggregator = {
    .name = "winsorized_mean",
    .summary = "The mean of each coordinate, its f extremes on both sides moved inwards.",
    .least = more_than_half,
    .least_text = "2 f + 1",
    .column =
        [](const RuleInput& input, std::span<float> values) {
          return winsorized_mean_of(values, static_cast<std::size_t>(input.liars));
        },
};

}  // namespace weft
