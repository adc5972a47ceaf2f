// The loops of attention_loops.h, compiled once for each instruction set.
#include "weft/kernel/attention/attention_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

#include "weft/kernel/attention/score_lanes.inc"

// Behind the last value of a row; a tile of a product reads less.
constexpr std::int64_t kTail = 8;

inline void clear_behind(float* row, std::int64_t count) {
  for (std::int64_t i = 0; i < kTail; ++i) row[count + i] = 0.0F;
}

// a0 + a1, a2 + a3 and so on, and then the same of b.
[[gnu::always_inline]] inline Vec pair_sums(const Vec& a, const Vec& b) {
#if WEFT_LANES == 16
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
         __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#else
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14) +
         __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#endif
}

// Sums of kRows keys' products, kLanes / kRows parts of each side by side.
template <int kRows>
[[gnu::always_inline]] inline Vec row_products(const float* query, const float* key,
                                               const AttentionKeys& keys) {
  if constexpr (kRows == 1) {
    Vec sum = {};
    for (std::int64_t i = 0; i < keys.width; i += kLanes) {
      sum = multiply_add(load(query + i), load(key + i), sum);
    }
    return sum;
  } else {
    return pair_sums(row_products<kRows / 2>(query, key, keys),
                     row_products<kRows / 2>(query, key + kRows / 2 * keys.step, keys));
  }
}

void scores_of(const float* query, const AttentionKeys& keys, float* scores) {
  std::int64_t j = 0;
  for (; j + kLanes <= keys.count; j += kLanes) {
    store(scores + j, row_products<kLanes>(query, keys.data + j * keys.step, keys));
  }
  for (; j < keys.count; ++j) {
    scores[j] = sum_of(row_products<1>(query, keys.data + j * keys.step, keys));
  }
}

float soften(float* scores, std::int64_t count, AttentionSoftmax& softmax) {
  SoftmaxStep step = softmax_step(softmax, largest_score(scores, count, all(1.0F)));
  const std::int64_t whole = count / kLanes * kLanes;
  std::int64_t i = 0;
#pragma GCC unroll 2
  for (; i < whole; i += kLanes) {
    const Vec share = exp2_of(load(scores + i) - step.top);
    store(scores + i, share);
    step.sums += share;
  }
  if (i < count) {
    const Vec share = first_lanes(count - i, exp2_of(load(scores + i) - step.top), Vec{});
    store(scores + i, share);
    step.sums += share;
  }
  store(softmax.sums, step.sums);
  clear_behind(scores, count);
  return step.kept;
}

void gradient(const AttentionRow& row, std::int64_t count) {
  float* const scores = row.scores;
  float* const gradients = row.gradients;
  const Vec log_sum = all(row.log_sum);
  const Vec dot = all(row.dot);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const Vec share = exp2_of(load(scores + i) - log_sum);
    store(scores + i, share);
    store(gradients + i, share * (load(gradients + i) - dot));
  }
  clear_behind(scores, count);
  clear_behind(gradients, count);
}

void scaled(const float* x, float* y, std::int64_t count, float by) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(y + i, load(x + i) * by);
  for (; i < count; ++i) y[i] = x[i] * by;
}

float dot_of(const float* a, const float* b, std::int64_t count) {
  Vec lanes = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) lanes = multiply_add(load(a + i), load(b + i), lanes);
  float sum = sum_of(lanes);
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

extern const AttentionLoops WEFT_LOOPS_NAME(attention_loops) = {scores_of, soften, gradient, scaled,
                                                                dot_of};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
