// bulyan: n - 2f updates that krum picks one by one, then the values nearest to their median.
#include <algorithm>
#include <numeric>
#include <vector>

#include "weft/aggregate/aggregator_def.h"
#include "weft/aggregate/krum_scores.h"
#include "weft/aggregate/math/columns.h"

namespace weft {
namespace {

int bulyan_rows(const RuleInput& input) { return input.inputs - 2 * input.liars; }

WeightMatrix bulyan_select(const RuleInput& input, const Distances& distances) {
  std::vector<int> left(static_cast<std::size_t>(input.inputs));
  std::iota(left.begin(), left.end(), 0);
  WeightMatrix weights(bulyan_rows(input), input.inputs);
  for (int row = 0; row < weights.rows(); ++row) {
    const auto count = static_cast<int>(left.size());
    const int neighbours = std::max(1, count - input.liars - 2);
    const int best = smallest(krum_scores(distances, left, neighbours), 1).front();
    weights.at(row, left[static_cast<std::size_t>(best)]) = 1;
    left.erase(left.begin() + best);
  }
  return weights;
}

float bulyan_column(const RuleInput& input, std::span<float> values) {
  std::vector<float> reordered(values.begin(), values.end());
  const double median = median_of(reordered);
  const int keep = static_cast<int>(values.size()) - 2 * input.liars;
  return static_cast<float>(mean_of_nearest(values, median, keep));
}

}  // namespace

extern const AggregatorDef bulyan_aggregator = {
    .name = "bulyan",
    .summary =
        "From n - 2 f updates that krum picks, the mean of the n - 4 f values of each coordinate "
        "nearest to the median (El Mhamdi et al. 2018).",
    .least = [](int liars) { return 4 * liars + 3; },
    .least_text = "4 f + 3",
    .select = bulyan_select,
    .rows = bulyan_rows,
    .needs_distances = true,
    .column = bulyan_column,
};

}  // namespace weft
