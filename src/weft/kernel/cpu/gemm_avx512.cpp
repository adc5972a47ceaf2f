// gemm's loops for processors with AVX-512. The pragmas stand after all includes, so that no
// function of a header is compiled for them.
#if defined(__x86_64__)

#include <immintrin.h>

#include "weft/kernel/cpu/gemm_loops.h"

// 24 accumulators, 2 of b and 1 of a: 27 of 32 registers. 12 rows, as two tiles of AVX2 have.
#define WEFT_GEMM_LANES 16
#define WEFT_GEMM_ROWS 12
#define WEFT_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx512f,avx2,fma")
#endif

namespace weft {
namespace {

inline __m512 multiply_add(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
#include "weft/kernel/cpu/gemm_loops.inc"

}  // namespace

const GemmLoops kGemmLoopsAvx512 = WEFT_GEMM_LOOPS;

}  // namespace weft

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // __x86_64__
