// hinge: full weight for up to b rounds, then 1 / (a (s - b) + 1).
//
// IMPLEMENTATION: C. Xie, S. Koyejo, I. Gupta, "Asynchronous federated optimization", 2019, section
// 5.2, "hinge", with the a = 10 and b = 4 of its experiments.
#include <algorithm>

#include "weft/gate/gate_def.h"

namespace weft {
namespace {

constexpr Option kHingeOptions[] = {
    {.name = "slope", .fallback = 10, .min = 0, .max = 1000, .help = "a, per round."},
    {.name = "rounds",
     .fallback = 4,
     .min = 0,
     .max = 1000,
     .whole = true,
     .help = "b: the rounds with full weight."},
};

}  // namespace

extern const GateDef hinge_gate = {
    .name = "hinge",
    .summary =
        "Late gradients count in full for b rounds, then 1 / (a (s - b) + 1) (Xie et al. 2019, "
        "FedAsync).",
    .options = kHingeOptions,
    .weight =
        [](const GateInput& input, const Lateness& late) {
          const double beyond = static_cast<double>(late.staleness) - input.options[1];
          return 1 / (input.options[0] * std::max(0.0, beyond) + 1);
        },
};

}  // namespace weft
