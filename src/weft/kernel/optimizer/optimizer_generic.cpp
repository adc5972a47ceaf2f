// The optimizers' loops for any processor.
#include "weft/kernel/optimizer/optimizer_loops.h"

#if !defined(__clang__)
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#endif
// Vectors wider than the processor's registers never leave this file.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace weft {
namespace {
#include "weft/kernel/optimizer/optimizer_loops.inc"
}  // namespace

const OptimizerBuild kOptimizerLoopsGeneric = WEFT_OPTIMIZER_LOOPS;

}  // namespace weft
