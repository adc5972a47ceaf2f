// The loops of direct_weights_loops.h. The pragmas stand after all includes, so that no function of
// a header is compiled for AVX2.
#if defined(__x86_64__)

#include <immintrin.h>

#include "weft/kernel/conv/direct_weights_loops.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx2,fma")
#endif

namespace weft {
namespace {

constexpr std::int64_t kLanes = 8;

// Sums of kTaps taps from `first` on stay in registers for the whole pass: every loop over them is
// unrolled, because an array with a variable index would live in memory.
template <int kTaps, int kBlocks>
void taps_from(const DirectWeightsPass& pass, std::int64_t first, const float* ahead) {
  __m256 sum[kTaps][kBlocks];
  float* const sums = pass.sums + first * 2 * kLanes;
  const std::int64_t block_step = pass.block_step;
  const std::int64_t column_step = pass.column_step;
#pragma GCC unroll 6
  for (int t = 0; t < kTaps; ++t) {
#pragma GCC unroll 2
    for (int b = 0; b < kBlocks; ++b) sum[t][b] = _mm256_loadu_ps(sums + (2 * t + b) * kLanes);
  }
  const float* gradient = pass.gradients;
  const float* from[kTaps];
#pragma GCC unroll 6
  for (int t = 0; t < kTaps; ++t) from[t] = pass.x + pass.taps[first + t];
  const std::int64_t width = pass.width;
  const std::int64_t to_next_row = pass.row_step - width * column_step;
  std::int64_t at = 0;
  for (std::int64_t i = pass.rows; i > 0; --i) {
    for (std::int64_t j = width; j > 0; --j) {
      __m256 g[kBlocks];
#pragma GCC unroll 2
      for (int b = 0; b < kBlocks; ++b) g[b] = _mm256_loadu_ps(gradient + b * block_step);
#pragma GCC unroll 6
      for (int t = 0; t < kTaps; ++t) {
        const __m256 x = _mm256_broadcast_ss(from[t] + at);
#pragma GCC unroll 2
        for (int b = 0; b < kBlocks; ++b) sum[t][b] = _mm256_fmadd_ps(x, g[b], sum[t][b]);
      }
      _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T0);
      ahead += kLanes;
      gradient += kLanes;
      at += column_step;
    }
    at += to_next_row;
  }
#pragma GCC unroll 6
  for (int t = 0; t < kTaps; ++t) {
#pragma GCC unroll 2
    for (int b = 0; b < kBlocks; ++b) _mm256_storeu_ps(sums + (2 * t + b) * kLanes, sum[t][b]);
  }
}

// `taps` <= kTaps of them.
template <int kTaps, int kBlocks>
void any_taps_from(const DirectWeightsPass& pass, std::int64_t first, std::int64_t taps,
                   const float* ahead) {
  if (taps == kTaps) {
    taps_from<kTaps, kBlocks>(pass, first, ahead);
  } else if constexpr (kTaps > 1) {
    any_taps_from<kTaps - 1, kBlocks>(pass, first, taps, ahead);
  }
}

// In groups of about equal size, because a small one keeps the multipliers waiting.
template <int kBlocks>
void all_taps(const DirectWeightsPass& pass) {
  constexpr std::int64_t kTaps = 6;  // 12 sums, 2 gradients and a value: 15 registers of 16
  int group = 0;
  for (std::int64_t t = 0; t < pass.tap_count; ++group) {
    const std::int64_t left = pass.tap_count - t;
    const std::int64_t groups = (left + kTaps - 1) / kTaps;
    const std::int64_t taps = (left + groups - 1) / groups;
    const float* const ahead = group < 4 ? pass.ahead[group] : pass.gradients;
    any_taps_from<kTaps, kBlocks>(pass, t, taps, ahead);
    t += taps;
  }
}

void weight_sums(const DirectWeightsPass& pass) {
  if (pass.blocks == 2) {
    all_taps<2>(pass);
  } else {
    all_taps<1>(pass);
  }
}

void mask(const DirectWeightsLoops::Mask& given, float* g, float* bias_sums) {
  const DirectWeightsLoops::Mask m = given;
  __m256 sum = _mm256_loadu_ps(bias_sums);
  for (std::int64_t i = 0; i < m.pixels; ++i) {
    __m256 value = _mm256_loadu_ps(m.dy + i * kLanes);
    if (m.y != nullptr) {
      const __m256 y = _mm256_loadu_ps(m.y + i * kLanes);
      value = _mm256_and_ps(value, _mm256_cmp_ps(y, _mm256_setzero_ps(), _CMP_GT_OQ));
    }
    _mm256_storeu_ps(g + i * kLanes, value);
    sum = _mm256_add_ps(sum, value);
  }
  _mm256_storeu_ps(bias_sums, sum);
}

}  // namespace

const DirectWeightsLoops kDirectWeightsLoopsAvx2 = {weight_sums, mask};

}  // namespace weft

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // __x86_64__
