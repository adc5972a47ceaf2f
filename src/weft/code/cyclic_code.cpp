// cyclic: random coefficients of consecutive chunks; code/chunk/cyclic_sums.cpp has the source.
#include "weft/code/code_def.h"
#include "weft/code/rounds/per_round.h"

namespace weft {
namespace {

constexpr Option kCyclicOptions[] = {
    {.name = "stragglers",
     .fallback = 1,
     .min = 0,
     .max = 64,
     .whole = true,
     .help = "Workers that may be missing, any of them."},
};

}  // namespace

extern const CodeDef cyclic_code = {
    .name = "cyclic",
    .summary =
        "Each worker sums stragglers + 1 consecutive chunks with random coefficients (Tandon et "
        "al. 2017).",
    .load_text = "(stragglers + 1) / n",
    .options = kCyclicOptions,
    .rounds = [](const CodeInput& input) -> Result<std::unique_ptr<CodedRounds>> {
      WEFT_TRY_ASSIGN(auto sums, cyclic_sums({input.workers, input.option(0)}));
      return per_round(std::move(sums), input.jobs);
    },
};

}  // namespace weft
