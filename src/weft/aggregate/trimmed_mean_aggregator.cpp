// trimmed_mean: of each coordinate, without the f smallest and the f largest values.
#include "weft/aggregate/aggregator_def.h"
#include "weft/aggregate/math/columns.h"

namespace weft {

extern const AggregatorDef trimmed_mean_aggregator = {
    .name = "trimmed_mean",
    .summary =
        "The mean of each coordinate without the f smallest and f largest values (Yin et al. "
        "2018).",
    .least = more_than_half,
    .least_text = "2 f + 1",
    .column =
        [](const RuleInput& input, std::span<float> values) {
          return static_cast<float>(trimmed_mean_of(values, input.liars));
        },
    .columns =
        [](const RuleInput& input, ColumnRows rows, std::span<float> out) {
          trimmed_means_of(rows, static_cast<std::size_t>(input.liars), out);
        },
};

}  // namespace weft
