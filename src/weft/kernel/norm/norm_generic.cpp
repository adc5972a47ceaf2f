// The loops of norm_loops.h for any processor.
#include "weft/kernel/norm/norm_loops.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
// Vectors of 32 and 64 bytes pass between inlined functions only.
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace weft {
namespace {

#include "weft/kernel/norm/norm_loops.inc"

}  // namespace

const NormLoops kNormLoopsGeneric[2] = {all_norm_loops<float>(), all_norm_loops<double>()};

}  // namespace weft
