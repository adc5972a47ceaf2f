// adamw: Adam; the decay shrinks the parameters directly.
#include "weft/optim/adam_family.h"

namespace weft {
namespace {

std::unique_ptr<Optimizer> make_adamw(const OptimizerOptions& options, ParameterArena& arena) {
  return make_adam_family(options, arena, WeightDecay::kDecoupled);
}

}  // namespace

extern const OptimizerDef adamw_optimizer = {"adamw", make_adamw};

}  // namespace weft
