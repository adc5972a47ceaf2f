// carry: late gradients count as much as others.
#include "weft/gate/gate_def.h"

namespace weft {

extern const GateDef carry_gate = {
    .name = "carry",
    .summary = "Late gradients count as much as fresh ones, however late they are.",
    .weight = [](const GateInput&, const Lateness&) { return 1.0; },
};

}  // namespace weft
