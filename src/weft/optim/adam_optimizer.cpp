// adam: Adam; the decay is part of the gradient.
#include "weft/optim/adam_family.h"

namespace weft {
namespace {

std::unique_ptr<Optimizer> make_adam(const OptimizerOptions& options, ParameterArena& arena) {
  return make_adam_family(options, arena, WeightDecay::kInGradient);
}

}  // namespace

extern const OptimizerDef adam_optimizer = {"adam", make_adam};

}  // namespace weft
