// linear: the weight of late gradients falls to nothing over `rounds` rounds.
#include <algorithm>

#include "weft/gate/gate_def.h"

namespace weft {
namespace {

constexpr Option kLinearOptions[] = {
    {.name = "rounds",
     .fallback = 8,
     .min = 2,
     .max = 1000,
     .whole = true,
     .help = "The age at which gradients do not count any more."},
};

}  // namespace

extern const GateDef linear_gate = {
    .name = "linear",
    .summary = "Late gradients of s rounds count 1 - s / rounds.",
    .options = kLinearOptions,
    .weight =
        [](const GateInput& input, const Lateness& late) {
          return std::max(0.0, 1 - static_cast<double>(late.staleness) / input.options[0]);
        },
};

}  // namespace weft
