// The recurrent layers' loops for any processor, and those of f64.
#include "weft/kernel/cpu/gate_loops.h"
#include "weft/kernel/cpu/isa.h"

namespace weft {
namespace {
#include "weft/kernel/cpu/gate_loops.inc"
}  // namespace

const GateLoops<float> kGateLoopsGeneric = WEFT_GATE_LOOPS(float);
const GateLoops<double> kGateLoopsDouble = WEFT_GATE_LOOPS(double);

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
