// Vector code by target attributes; every tail and every other processor uses half.h.
#include "weft/array/dtype/half_rows.h"

#include "weft/base/isa/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft {
namespace {

#if defined(__x86_64__)

constexpr std::int64_t kWidth = 8;

// Each returns how many values it has converted: all whole vectors.
__attribute__((target("avx2"))) std::int64_t widen(const BFloat16* from, float* to,
                                                   std::int64_t count) {
  const std::int64_t whole = count - count % kWidth;
  for (std::int64_t i = 0; i < whole; i += kWidth) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
    _mm256_storeu_ps(to + i, _mm256_castsi256_ps(wide));
  }
  return whole;
}

__attribute__((target("avx2,f16c"))) std::int64_t widen(const Float16* from, float* to,
                                                        std::int64_t count) {
  const std::int64_t whole = count - count % kWidth;
  for (std::int64_t i = 0; i < whole; i += kWidth) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(bits));
  }
  return whole;
}

__attribute__((target("avx2"))) std::int64_t narrow(const float* from, BFloat16* to,
                                                    std::int64_t count) {
  const std::int64_t whole = count - count % kWidth;
  for (std::int64_t i = 0; i < whole; i += kWidth) {
    const __m256 value = _mm256_loadu_ps(from + i);
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i upper = _mm256_srli_epi32(bits, 16);
    const __m256i tie = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    const __m256i bias = _mm256_add_epi32(tie, _mm256_set1_epi32(0x7FFF));
    const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
    const __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i result = _mm256_blendv_epi8(rounded, quiet, is_nan);
    const __m128i packed =
        _mm_packus_epi32(_mm256_castsi256_si128(result), _mm256_extracti128_si256(result, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), packed);
  }
  return whole;
}

__attribute__((target("avx2,f16c"))) std::int64_t narrow(const float* from, Float16* to,
                                                         std::int64_t count) {
  const std::int64_t whole = count - count % kWidth;
  for (std::int64_t i = 0; i < whole; i += kWidth) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), bits);
  }
  return whole;
}

#else

template <class From, class To>
std::int64_t widen(const From*, To*, std::int64_t) {
  return 0;
}
template <class From, class To>
std::int64_t narrow(const From*, To*, std::int64_t) {
  return 0;
}

#endif

template <class Half>
void widen_row(const Half* from, float* to, std::int64_t count) {
  for (std::int64_t i = use_avx2() ? widen(from, to, count) : 0; i < count; ++i) {
    to[i] = from[i];
  }
}

template <class Half>
void narrow_row(const float* from, Half* to, std::int64_t count) {
  for (std::int64_t i = use_avx2() ? narrow(from, to, count) : 0; i < count; ++i) {
    to[i] = static_cast<Half>(from[i]);
  }
}

}  // namespace

void to_f32_row(const BFloat16* from, float* to, std::int64_t count) { widen_row(from, to, count); }
void to_f32_row(const Float16* from, float* to, std::int64_t count) { widen_row(from, to, count); }
void from_f32_row(const float* from, BFloat16* to, std::int64_t count) {
  narrow_row(from, to, count);
}
void from_f32_row(const float* from, Float16* to, std::int64_t count) {
  narrow_row(from, to, count);
}

}  // namespace weft
