// median: of each coordinate.
#include "weft/aggregate/aggregator_def.h"
#include "weft/aggregate/math/columns.h"

namespace weft {

extern const AggregatorDef median_aggregator = {
    .name = "median",
    .summary = "The median of each coordinate (Yin et al. 2018).",
    .least = more_than_half,
    .least_text = "2 f + 1",
    .column = [](const RuleInput& /*input*/,
                 std::span<float> values) { return static_cast<float>(median_of(values)); },
    .columns = [](const RuleInput& /*input*/, ColumnRows rows,
                  std::span<float> out) { medians_of(rows, out); },
};

}  // namespace weft
