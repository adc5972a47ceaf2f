// replicated: every worker computes the whole batch, and the first message is enough.
#include "weft/code/code_def.h"
#include "weft/code/rounds/per_round.h"

namespace weft {

extern const CodeDef replicated_code = {
    .name = "replicated",
    .summary = "Every worker computes the whole batch; any one of them suffices.",
    .load_text = "1",
    .rounds = [](const CodeInput& input) -> Result<std::unique_ptr<CodedRounds>> {
      WEFT_TRY_ASSIGN(auto sums, repetition_sums({input.workers, input.workers - 1}));
      return per_round(std::move(sums), input.jobs);
    },
};

}  // namespace weft
