// The flat loops for any processor.
#include "weft/kernel/core/flat_loops.h"

#if !defined(__clang__)
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#endif

namespace weft {
namespace {
#include "weft/kernel/core/flat_loops.inc"
}  // namespace

const FlatLoops kFlatLoopsGeneric = WEFT_FLAT_LOOPS;

}  // namespace weft
