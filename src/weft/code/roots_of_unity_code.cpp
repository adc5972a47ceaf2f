// roots_of_unity: coefficients of one polynomial; code/chunk/roots_sums.cpp has the source.
#include "weft/code/code_def.h"
#include "weft/code/rounds/per_round.h"

namespace weft {
namespace {

constexpr Option kRootsOfUnityOptions[] = {
    {.name = "stragglers",
     .fallback = 1,
     .min = 0,
     .max = 64,
     .whole = true,
     .help = "Workers that may be missing, any of them."},
};

}  // namespace

extern const CodeDef roots_of_unity_code = {
    .name = "roots_of_unity",
    .summary =
        "As cyclic, with the coefficients of a polynomial (Raviv et al. 2018), smaller for most "
        "missing.",
    .load_text = "(stragglers + 1) / n",
    .options = kRootsOfUnityOptions,
    .rounds = [](const CodeInput& input) -> Result<std::unique_ptr<CodedRounds>> {
      WEFT_TRY_ASSIGN(auto sums, roots_sums({input.workers, input.option(0)}));
      return per_round(std::move(sums), input.jobs);
    },
};

}  // namespace weft
