// The recurrent layers' loops for any processor, and those of f64.
#include "weft/base/isa.h"
#include "weft/kernel/recurrent/gate_loops.h"

namespace weft {
namespace {
#include "weft/kernel/core/math.inc"
namespace single {
using Real = float;
#include "weft/kernel/recurrent/gate_loops.inc"
constexpr GateLoops<float> kLoops = WEFT_GATE_LOOPS;
}  // namespace single
#undef WEFT_GATE_LOOPS
namespace wide {
using Real = double;
#include "weft/kernel/recurrent/gate_loops.inc"
constexpr GateLoops<double> kLoops = WEFT_GATE_LOOPS;
}  // namespace wide
}  // namespace

const GateLoops<float> kGateLoopsGeneric = single::kLoops;
const GateLoops<double> kGateLoopsDouble = wide::kLoops;

template <>
const GateLoops<float>& gate_loops<float>() {
#if defined(__x86_64__)
  if (use_avx2()) return kGateLoopsAvx2;
#endif
  return kGateLoopsGeneric;
}
template <>
const GateLoops<double>& gate_loops<double>() {
  return kGateLoopsDouble;
}

}  // namespace weft
