// exponential: weight base^-s after s rounds.
//
// IMPLEMENTATION: Y. Chen, X. Sun, Y. Jin, "Communication-efficient federated deep learning with
// layerwise asynchronous model update and temporally weighted aggregation", 2019, whose base is
// e / 2.
#include <numbers>

#include "weft/base/portable_math.h"
#include "weft/gate/gate_def.h"

namespace weft {
namespace {

constexpr Option kExponentialOptions[] = {
    {.name = "base",
     .fallback = std::numbers::e / 2,
     .min = 1,
     .max = 1000,
     .help = "By how much a round divides the weight; 1 is carry."},
};

}  // namespace

extern const GateDef exponential_gate = {
    .name = "exponential",
    .summary = "Late gradients of s rounds count base^-s (Chen et al. 2019).",
    .options = kExponentialOptions,
    .weight =
        [](const GateInput& input, const Lateness& late) {
          return portable_pow(input.options[0], -static_cast<double>(late.staleness));
        },
};

}  // namespace weft
