// Adam and AdamW differ in one flag; both files make theirs here.
#pragma once

#include <memory>

#include "weft/optim/optimizer.h"

namespace weft {

enum class WeightDecay { kInGradient, kDecoupled };

// State "mean" and "variance", with AMSGrad also "variance_max".
std::unique_ptr<Optimizer> make_adam_family(const OptimizerOptions& options, ParameterArena& arena,
                                            WeightDecay weight_decay);

}  // namespace weft
