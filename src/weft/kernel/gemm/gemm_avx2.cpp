// gemm's loops for processors with AVX2 and FMA. The pragmas stand after all includes, so that no
// function of a header is compiled for them.
#if defined(__x86_64__)

#include <immintrin.h>

#include "weft/kernel/gemm/gemm_loops.h"

#define WEFT_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx2,fma")
#endif

namespace weft {
namespace {

inline __m256 multiply_add(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
#include "weft/kernel/gemm/gemm_loops.inc"

}  // namespace

const GemmLoops kGemmLoopsAvx2 = WEFT_GEMM_LOOPS;

}  // namespace weft

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // __x86_64__
