// The loops of few_channels_loops.h. The pragmas stand after all includes, so that no function of
// a header is compiled for AVX2.
#if defined(__x86_64__)

#include <immintrin.h>

#include "weft/kernel/cpu/few_channels_loops.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx2,fma")
#endif

namespace weft {
namespace {

constexpr std::int64_t kLanes = 8;

// Sums of kTaps taps from `first` on stay in registers for the whole pass.
template <int kTaps, int kBlocks>
void taps_from(const FewChannelsPass& pass, std::int64_t first) {
  __m256 sum[kTaps][kBlocks];
  float* const sums = pass.sums + first * 2 * kLanes;
  for (int t = 0; t < kTaps; ++t) {
    for (int b = 0; b < kBlocks; ++b) sum[t][b] = _mm256_loadu_ps(sums + (2 * t + b) * kLanes);
  }
  const float* gradient = pass.gradients;
  for (std::int64_t i = 0; i < pass.rows; ++i) {
    const float* from[kTaps];
    for (int t = 0; t < kTaps; ++t) from[t] = pass.x + pass.taps[first + t] + i * pass.row_step;
    std::int64_t at = 0;
    for (std::int64_t j = 0; j < pass.width; ++j) {
      __m256 g[kBlocks];
      for (int b = 0; b < kBlocks; ++b) g[b] = _mm256_loadu_ps(gradient + b * pass.block_step);
#pragma GCC unroll 6
      for (int t = 0; t < kTaps; ++t) {
        const __m256 x = _mm256_broadcast_ss(from[t] + at);
        for (int b = 0; b < kBlocks; ++b) sum[t][b] = _mm256_fmadd_ps(x, g[b], sum[t][b]);
      }
      gradient += kLanes;
      at += pass.column_step;
    }
  }
  for (int t = 0; t < kTaps; ++t) {
    for (int b = 0; b < kBlocks; ++b) _mm256_storeu_ps(sums + (2 * t + b) * kLanes, sum[t][b]);
  }
}

template <int kBlocks>
void all_taps(const FewChannelsPass& pass) {
  std::int64_t t = 0;
  for (; t + 5 <= pass.tap_count; t += 5) taps_from<5, kBlocks>(pass, t);
  switch (pass.tap_count - t) {
    case 4:
      return taps_from<4, kBlocks>(pass, t);
    case 3:
      return taps_from<3, kBlocks>(pass, t);
    case 2:
      return taps_from<2, kBlocks>(pass, t);
    case 1:
      return taps_from<1, kBlocks>(pass, t);
    default:
      return;
  }
}

void weight_sums(const FewChannelsPass& pass) {
  if (pass.blocks == 2) {
    all_taps<2>(pass);
  } else {
    all_taps<1>(pass);
  }
}

void mask(const FewChannelsLoops::Mask& given, float* g, float* bias_sums) {
  const FewChannelsLoops::Mask m = given;
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

const FewChannelsLoops kFewChannelsLoopsAvx2 = {weight_sums, mask};

}  // namespace weft

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // __x86_64__
