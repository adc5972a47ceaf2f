// The loops of half_rows_loops.h, compiled once for each instruction set.
#include "weft/array/dtype/half_rows_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

void widen_bf16(const std::uint16_t* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = __builtin_bit_cast(float, static_cast<std::uint32_t>(from[i]) << 16U);
  }
}

// As internal::to_bf16_bits(), without a branch.
void narrow_bf16(const float* from, std::uint16_t* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = __builtin_bit_cast(std::uint32_t, from[i]);
    const std::uint32_t upper = bits >> 16U;
    const std::uint32_t rounded = (bits + 0x7FFFU + (upper & 1U)) >> 16U;
    const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
    to[i] = static_cast<std::uint16_t>(is_nan ? upper | 0x40U : rounded);
  }
}

#if defined(WEFT_WITH_AVX2)

constexpr std::int64_t kWidth = 8;

// Whoever has AVX2 has F16C (isa.cpp).
__attribute__((target("avx2,f16c"))) std::int64_t widen_f16(const std::uint16_t* from, float* to,
                                                            std::int64_t count) {
  const std::int64_t whole = count - count % kWidth;
  for (std::int64_t i = 0; i < whole; i += kWidth) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(bits));
  }
  return whole;
}

__attribute__((target("avx2,f16c"))) std::int64_t narrow_f16(const float* from, std::uint16_t* to,
                                                             std::int64_t count) {
  const std::int64_t whole = count - count % kWidth;
  for (std::int64_t i = 0; i < whole; i += kWidth) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), bits);
  }
  return whole;
}

#else

std::int64_t widen_f16(const std::uint16_t*, float*, std::int64_t) { return 0; }
std::int64_t narrow_f16(const float*, std::uint16_t*, std::int64_t) { return 0; }

#endif

}  // namespace

extern const HalfRowLoops WEFT_LOOPS_NAME(half_row_loops) = {widen_bf16, narrow_bf16, widen_f16,
                                                             narrow_f16};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
