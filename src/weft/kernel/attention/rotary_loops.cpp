// The loops of rotary_loops.h, compiled once for each instruction set.
#include "weft/kernel/attention/rotary_loops.h"

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

#include "weft/kernel/core/fetch_ahead.inc"

constexpr std::int64_t kLanes = 8;

// kCount pairs of values.
template <int kCount, bool kBack>
inline void turn_pairs(const float* x, float* y, const float* cos, const float* sin,
                       std::int64_t half) {
  using Values [[gnu::vector_size(4 * kCount)]] = float;
  Values a;
  Values b;
  Values c;
  Values s;
  __builtin_memcpy(&a, x, sizeof a);
  __builtin_memcpy(&b, x + half, sizeof b);
  __builtin_memcpy(&c, cos, sizeof c);
  __builtin_memcpy(&s, sin, sizeof s);
  if constexpr (kBack) s = -s;
  const Values first = a * c - b * s;
  const Values second = b * c + a * s;
  __builtin_memcpy(y, &first, sizeof first);
  __builtin_memcpy(y + half, &second, sizeof second);
}

template <bool kBack>
void turn_head(const float* x, float* y, const float* cos, const float* sin, std::int64_t half) {
  std::int64_t i = 0;
  for (; i + kLanes <= half; i += kLanes) {
    turn_pairs<kLanes, kBack>(x + i, y + i, cos + i, sin + i, half);
    fetch_ahead(x + i);
    fetch_ahead(x + half + i);
    fetch_ahead_to_write(y + i);
    fetch_ahead_to_write(y + half + i);
  }
  for (; i < half; ++i) turn_pairs<1, kBack>(x + i, y + i, cos + i, sin + i, half);
}

}  // namespace

extern const RotaryLoops WEFT_LOOPS_NAME(rotary_loops) = {turn_head<false>, turn_head<true>};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
