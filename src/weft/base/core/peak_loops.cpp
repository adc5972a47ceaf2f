// The loops of peak_loops.h, compiled once for each instruction set.
#include "weft/base/core/peak_loops.h"

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

using Vec [[gnu::vector_size(4 * WEFT_LANES)]] = float;

// As many chains as hide the latency of a multiply-add and still fit into the registers.
constexpr int kChains = 12;

float multiply_adds(float first, std::int64_t rounds) {
  const Vec zero = {};
  const Vec factor = zero + 0.999F;
  const Vec term = zero + 0.001F;
  Vec sums[kChains];
  for (int k = 0; k < kChains; ++k) sums[k] = zero + (first + static_cast<float>(k));
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) sums[k] = sums[k] * factor + term;
  }
  Vec total = sums[0];
  for (int k = 1; k < kChains; ++k) total += sums[k];
  return total[0];
}

void triad(float* a, const float* b, const float* c, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + WEFT_LANES <= count; i += WEFT_LANES) {
    Vec x;
    Vec y;
    __builtin_memcpy(&x, b + i, sizeof x);
    __builtin_memcpy(&y, c + i, sizeof y);
    x += 3.0F * y;
    __builtin_memcpy(a + i, &x, sizeof x);
  }
  for (; i < count; ++i) a[i] = b[i] + 3.0F * c[i];
}

}  // namespace

extern const PeakLoops WEFT_LOOPS_NAME(peak_loops) = {2 * kChains * WEFT_LANES, multiply_adds,
                                                      triad};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
