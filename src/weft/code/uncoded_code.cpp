// uncoded: each worker computes its own share, and all are waited for. What codes are compared
// with.
#include "weft/code/code_def.h"
#include "weft/code/rounds/per_round.h"

namespace weft {

extern const CodeDef uncoded_code = {
    .name = "uncoded",
    .summary = "Each worker computes its own share once, and all are waited for.",
    .load_text = "1 / n",
    .rounds = [](const CodeInput& input) -> Result<std::unique_ptr<CodedRounds>> {
      WEFT_TRY_ASSIGN(auto sums, repetition_sums({input.workers, 0}));
      return per_round(std::move(sums), input.jobs);
    },
};

}  // namespace weft
