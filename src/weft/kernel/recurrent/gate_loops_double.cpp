// The loops of gate_loops.h for f64, for any processor.
#include "weft/kernel/recurrent/gate_loops.h"

namespace weft {
namespace {

#include "weft/kernel/core/math.inc"
using Real = double;
#include "weft/kernel/recurrent/gate_loops.inc"

}  // namespace

const GateLoops<double> kGateLoopsDouble = WEFT_GATE_LOOPS;

}  // namespace weft
