// The loops of norm_loops.h for processors with AVX2. The pragmas stand after all includes, so that
// no function of a header is compiled for it.
#if defined(__x86_64__)

#include "weft/kernel/norm/norm_loops.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx2")
// Vectors of 64 bytes pass between inlined functions only.
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace weft {
namespace {

#include "weft/kernel/norm/norm_loops.inc"

}  // namespace

const NormLoops kNormLoopsAvx2[2] = {all_norm_loops<float>(), all_norm_loops<double>()};

}  // namespace weft

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // __x86_64__
