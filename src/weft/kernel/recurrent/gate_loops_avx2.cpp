// The recurrent layers' loops for processors with AVX2 and FMA. The pragmas stand after all
// includes, so that no function of a header is compiled for them.
#if defined(__x86_64__)

#include "weft/kernel/recurrent/gate_loops.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx2,fma")
#endif

namespace weft {
namespace {
#include "weft/kernel/core/math.inc"
using Real = float;
#include "weft/kernel/recurrent/gate_loops.inc"
}  // namespace

const GateLoops<float> kGateLoopsAvx2 = WEFT_GATE_LOOPS;

}  // namespace weft

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // __x86_64__
