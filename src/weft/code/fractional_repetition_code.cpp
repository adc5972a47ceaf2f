// fractional_repetition: groups of workers compute the same; code/chunk/repetition_sums.cpp has the
// source.
#include "weft/code/code_def.h"
#include "weft/code/rounds/per_round.h"

namespace weft {
namespace {

constexpr Option kFractionalRepetitionOptions[] = {
    {.name = "stragglers",
     .fallback = 1,
     .min = 0,
     .max = 511,
     .whole = true,
     .help = "Workers that may be missing; one less than a divisor of the workers."},
};

}  // namespace

extern const CodeDef fractional_repetition_code = {
    .name = "fractional_repetition",
    .summary =
        "Groups of stragglers + 1 workers compute the same, so one of each suffices (Tandon et al. "
        "2017).",
    .load_text = "(stragglers + 1) / n",
    .options = kFractionalRepetitionOptions,
    .rounds = [](const CodeInput& input) -> Result<std::unique_ptr<CodedRounds>> {
      WEFT_TRY_ASSIGN(auto sums, repetition_sums({input.workers, input.option(0)}));
      return per_round(std::move(sums), input.jobs);
    },
};

}  // namespace weft
