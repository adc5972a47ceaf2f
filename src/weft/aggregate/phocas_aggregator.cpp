// phocas: mean around the trimmed mean.
#include <vector>

#include "weft/aggregate/aggregator_def.h"
#include "weft/aggregate/math/columns.h"

namespace weft {

extern const AggregatorDef phocas_aggregator = {
    .name = "phocas",
    .summary =
        "The mean of the n - f values of each coordinate that are nearest to the trimmed mean "
        "(Xie et al. 2018).",
    .least = more_than_half,
    .least_text = "2 f + 1",
    .column =
        [](const RuleInput& input, std::span<float> values) {
          std::vector<float> reordered(values.begin(), values.end());
          const double trimmed = trimmed_mean_of(reordered, input.liars);
          return static_cast<float>(mean_of_nearest(values, trimmed, input.inputs - input.liars));
        },
};

}  // namespace weft
