// The loops of attention_pairs_loops.h, compiled once for each instruction set.
#include "weft/kernel/attention/attention_pairs_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "weft/base/isa/loops_begin.inc"

// The same sets as in gemm_pairs_loops.cpp.
#if defined(WEFT_WITH_AVX512BF16) || defined(WEFT_WITH_BF16) || \
    (WEFT_LANES == 16 && !defined(WEFT_WITH_AVX512F))

namespace weft {
namespace {

#include "weft/kernel/attention/score_lanes.inc"
#include "weft/kernel/core/bf16_lanes.inc"

constexpr int kHalves = WEFT_LANES;
using Lanes = Bf16Lanes<kHalves>;
using Bits = Lanes::Bits;

struct Halves {
  std::uint16_t values[kHalves];
};

[[gnu::always_inline]] inline Halves halves_of(const Vec& values) {
  Halves halves;
  store_bf16<kHalves>(halves.values, values);
  return halves;
}

inline Bits load_bits(const std::uint16_t* from) {
  Bits bits;
  extend<kHalves>(from, bits);
  return bits;
}
inline void store_bits(std::uint32_t* to, const Bits& bits) {
  __builtin_memcpy(to, &bits, sizeof bits);
}
[[gnu::always_inline]] inline void store_pairs(std::uint32_t* to, const Halves& first,
                                               const Halves& second) {
  store_bits(to, load_bits(first.values) | load_bits(second.values) << 16);
}

void interleave(const std::uint16_t* first, const std::uint16_t* second, std::int64_t count,
                std::uint32_t* to) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Bits bits = load_bits(first + i);
    if (second != nullptr) bits |= load_bits(second + i) << 16;
    store_bits(to + i, bits);
  }
  for (; i < count; ++i) {
    const std::uint32_t upper = second == nullptr ? 0 : second[i];
    to[i] = first[i] | upper << 16;
  }
}

template <class T>
inline void clear(T* from) {
  for (std::int64_t i = 0; i < kAttentionRoom; ++i) from[i] = 0;
}

inline std::int64_t whole_registers(std::int64_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

float soften(const AttentionScores& row, AttentionSoftmax& softmax, std::uint16_t* shares) {
  const Vec by = all(row.by);
  SoftmaxStep step = softmax_step(softmax, largest_score(row.scores, row.count, by));
  const auto soften_at = [&](std::int64_t i, bool last) __attribute__((always_inline)) {
    Vec share = exp2_of(load(row.scores + i) * by - step.top);
    if (last) share = first_lanes(row.count - i, share, Vec{});
    step.sums += share;
    if (row.factors != nullptr) share *= load(row.factors + i);
    if (last) share = first_lanes(row.count - i, share, Vec{});
    store_bf16<kHalves>(shares + i, share);
  };
  const std::int64_t whole = row.count / kLanes * kLanes;
  std::int64_t i = 0;
#pragma GCC unroll 2
  for (; i < whole; i += kLanes) soften_at(i, false);
  if (i < row.count) soften_at(i, true);
  store(softmax.sums, step.sums);
  clear(shares + whole_registers(row.count));
  return step.kept;
}

// The share and the gradient of one query and kLanes keys.
struct ShareLanes {
  Vec share;
  Vec gradient;
};

[[gnu::always_inline]] inline ShareLanes gradient_at(const AttentionGradientRow& from,
                                                     std::int64_t i, bool last) {
  const AttentionScores& row = from.row;
  Vec share = exp2_of(load(row.scores + i) * all(row.by) - all(from.log_sum));
  Vec gradient = share * (load(from.gradients + i) - all(from.dot));
  if (row.factors != nullptr) share *= load(row.factors + i);
  if (last) {
    share = first_lanes(row.count - i, share, Vec{});
    gradient = first_lanes(row.count - i, gradient, Vec{});
  }
  return {share, gradient};
}

[[gnu::always_inline]] inline void gradient_pair(const AttentionGradientRow (&rows)[2],
                                                 std::int64_t i, bool last,
                                                 const AttentionPairs& to) {
  const ShareLanes first = gradient_at(rows[0], i, last);
  const ShareLanes second = gradient_at(rows[1], i, last);
  store_pairs(to.shares + i, halves_of(first.share), halves_of(second.share));
  const Halves gradients[2] = {halves_of(first.gradient), halves_of(second.gradient)};
  store_pairs(to.gradients + i, gradients[0], gradients[1]);
  __builtin_memcpy(to.first + i, &gradients[0], sizeof gradients[0]);
  __builtin_memcpy(to.second + i, &gradients[1], sizeof gradients[1]);
}

void gradient(const AttentionGradientRow (&rows)[2], const AttentionPairs& to) {
  const std::int64_t counts[] = {rows[0].row.count, rows[1].row.count};
  const std::int64_t least = counts[0] < counts[1] ? counts[0] : counts[1];
  const std::int64_t most = counts[0] < counts[1] ? counts[1] : counts[0];
  const std::int64_t whole = least / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) gradient_pair(rows, i, false, to);
  for (std::int64_t i = whole; i < most; i += kLanes) gradient_pair(rows, i, true, to);
  const std::int64_t end = whole_registers(most);
  clear(to.shares + end);
  clear(to.gradients + end);
  clear(to.first + end);
  clear(to.second + end);
}

}  // namespace

extern const AttentionPairsLoops WEFT_LOOPS_NAME(attention_pairs_loops) = {interleave, soften,
                                                                           gradient};

}  // namespace weft

#else

namespace weft {

extern const AttentionPairsLoops WEFT_LOOPS_NAME(attention_pairs_loops) = {};

}  // namespace weft

#endif

#include "weft/base/isa/loops_end.inc"
