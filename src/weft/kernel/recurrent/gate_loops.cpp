// The loops of gate_loops.h for f32, compiled once for each instruction set.
#include "weft/kernel/recurrent/gate_loops.h"

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

#include "weft/kernel/core/math.inc"
using Real = float;
#include "weft/kernel/recurrent/gate_loops.inc"

}  // namespace

extern const GateLoops<float> WEFT_LOOPS_NAME(gate_loops_f32) = WEFT_GATE_LOOPS;

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
