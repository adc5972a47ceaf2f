// The loops of pool_loops.h. The pragmas stand after all includes, so that no function of a header
// is compiled for AVX2.
#if defined(__x86_64__)

#include <immintrin.h>

#include "weft/kernel/pool/pool_loops.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx2")
#endif

namespace weft {
namespace {

constexpr std::int64_t kLanes = 8;

// The low bytes of 8 integers of at most 255.
inline void store_bytes(std::uint8_t* to, __m256i values) {
  const __m128i words =
      _mm_packs_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
}

void max_forward(const PoolPlane& plane, const float* x, float* y, std::uint8_t* winners) {
  const PoolPlane p = plane;
  for (std::int64_t i = 0; i < p.out_height; ++i) {
    for (std::int64_t j = 0; j < p.out_width; ++j) {
      const float* const window =
          x + (i * p.stride_height * p.in_width + j * p.stride_width) * kLanes;
      __m256 best = _mm256_loadu_ps(window);
      __m256i winner = _mm256_setzero_si256();
      int position = 0;
      for (std::int64_t r = 0; r < p.kernel_height; ++r) {
        const float* const row = window + r * p.in_width * kLanes;
        for (std::int64_t c = 0; c < p.kernel_width; ++c, ++position) {
          const __m256 value = _mm256_loadu_ps(row + c * kLanes);
          // A NaN stays, whatever comes after it.
          const __m256 wins = _mm256_or_ps(_mm256_cmp_ps(value, best, _CMP_GT_OQ),
                                           _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
          best = _mm256_blendv_ps(best, value, wins);
          winner =
              _mm256_blendv_epi8(winner, _mm256_set1_epi32(position), _mm256_castps_si256(wins));
        }
      }
      const std::int64_t at = (i * p.out_width + j) * kLanes;
      _mm256_storeu_ps(y + at, best);
      if (winners != nullptr) store_bytes(winners + at, winner);
    }
  }
}

inline void clear(float* from, const float* end) {
  for (; from < end; from += kLanes) _mm256_storeu_ps(from, _mm256_setzero_ps());
}

void max_backward(const PoolPlane& plane, const float* dy, const std::uint8_t* winners, float* dx) {
  const PoolPlane p = plane;
  const std::int64_t row_floats = p.in_width * kLanes;
  for (std::int64_t i = 0; i < p.out_height; ++i) {
    float* const band = dx + i * p.kernel_height * row_floats;
    for (std::int64_t j = 0; j < p.out_width; ++j) {
      const std::int64_t at = (i * p.out_width + j) * kLanes;
      const __m256 gradient = _mm256_loadu_ps(dy + at);
      const __m256i winner =
          _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(winners + at)));
      int position = 0;
      for (std::int64_t r = 0; r < p.kernel_height; ++r) {
        float* const to = band + r * row_floats + j * p.kernel_width * kLanes;
        for (std::int64_t c = 0; c < p.kernel_width; ++c, ++position) {
          const __m256i won = _mm256_cmpeq_epi32(winner, _mm256_set1_epi32(position));
          _mm256_storeu_ps(to + c * kLanes, _mm256_and_ps(gradient, _mm256_castsi256_ps(won)));
        }
      }
    }
    for (std::int64_t r = 0; r < p.kernel_height; ++r) {
      float* const row = band + r * row_floats;
      clear(row + p.out_width * p.kernel_width * kLanes, row + row_floats);
    }
  }
  clear(dx + p.out_height * p.kernel_height * row_floats, dx + p.in_height * row_floats);
}

}  // namespace

const PoolLoops kPoolLoopsAvx2 = {max_forward, max_backward};

}  // namespace weft

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // __x86_64__
