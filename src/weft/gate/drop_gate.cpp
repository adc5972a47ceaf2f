// drop: late gradients are lost.
#include "weft/gate/gate_def.h"

namespace weft {

extern const GateDef drop_gate = {
    .name = "drop",
    .summary = "Late gradients are lost.",
};

}  // namespace weft
