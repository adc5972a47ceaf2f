// The loops of rows.h for processors with AVX2. The pragmas stand after all includes, so that no
// function of a header is compiled for AVX2.
#if defined(__x86_64__)

#include <immintrin.h>

#include "weft/kernel/core/rows.h"

#define WEFT_ROWS_AVX2 1

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx2")
#endif

namespace weft {
namespace {
#include "weft/kernel/core/rows_loops.inc"
}  // namespace

const RowKernels avx2_row_kernels = WEFT_ROW_KERNELS;

}  // namespace weft

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // __x86_64__
