// The flat loops for processors with AVX2. FMA is left out: contraction would change bits. The
// pragmas stand after all includes, so that no function of a header is compiled for AVX2.
#if defined(__x86_64__)

#include "weft/kernel/core/flat_loops.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#pragma GCC target("avx2")
#endif

namespace weft {
namespace {
#include "weft/kernel/core/flat_loops.inc"
}  // namespace

const FlatLoops kFlatLoopsAvx2 = WEFT_FLAT_LOOPS;

}  // namespace weft

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // __x86_64__
