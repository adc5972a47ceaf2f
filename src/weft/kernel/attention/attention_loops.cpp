// The loops of attention_loops.h, compiled once for each instruction set.
#include "weft/kernel/attention/attention_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

#include "weft/kernel/attention/score_lanes.inc"
#include "weft/kernel/core/bf16_lanes.inc"

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
                                               const HeadRows& keys) {
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

void scores_of(const float* query, const HeadRows& keys, float* scores) {
  std::int64_t j = 0;
  for (; j + kLanes <= keys.count; j += kLanes) {
    store(scores + j, row_products<kLanes>(query, keys.data + j * keys.step, keys));
  }
  for (; j < keys.count; ++j) {
    scores[j] = sum_of(row_products<1>(query, keys.data + j * keys.step, keys));
  }
}

// Rows are read where they are, perhaps in memory, so in as few passes as registers allow: this one
// adds kVecs registers of each, as long as there are as many.
template <int kVecs>
inline void add_columns(const float* shares, HeadRows& left, float*& sums) {
  constexpr std::int64_t kColumns = kVecs * kLanes;
  for (; left.width >= kColumns; left.width -= kColumns) {
    Vec sum[kVecs] = {};
    const float* row = left.data;
    for (std::int64_t j = 0; j < left.count; ++j, row += left.step) {
      const Vec share = all(shares[j]);
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) sum[v] = multiply_add(share, load(row + v * kLanes), sum[v]);
    }
    for (int v = 0; v < kVecs; ++v) store(sums + v * kLanes, sum[v] + load(sums + v * kLanes));
    left.data += kColumns;
    sums += kColumns;
  }
}

void add_values(const float* shares, const HeadRows& values, float* sums) {
  HeadRows left = values;
  add_columns<8>(shares, left, sums);
  add_columns<4>(shares, left, sums);
  add_columns<2>(shares, left, sums);
  add_columns<1>(shares, left, sums);
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

void scale(float* x, std::int64_t count, float by) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(x + i, load(x + i) * by);
  for (; i < count; ++i) x[i] *= by;
}

template <int kCount>
using Floats = typename Bf16Lanes<kCount>::Floats;
template <int kCount>
inline void read(const float* from, Floats<kCount>& to) {
  __builtin_memcpy(&to, from, sizeof to);
}
template <int kCount>
inline void read(const std::uint16_t* from, Floats<kCount>& to) {
  load_bf16<kCount>(from, to);
}
template <int kCount>
inline void write(float* to, const Floats<kCount>& from) {
  __builtin_memcpy(to, &from, sizeof from);
}
template <int kCount>
inline void write(std::uint16_t* to, const Floats<kCount>& from) {
  store_bf16<kCount>(to, from);
}
template <int kCount, class From, class To>
inline void write_scaled(const From* from, float by, To* to) {
  Floats<kCount> value;
  read<kCount>(from, value);
  value *= by;
  write<kCount>(to, value);
}

template <class From, class To>
void copy_rows(const From* from, const AttentionRows& given, To* to) {
  const AttentionRows rows = given;
  constexpr std::int64_t kLine = 64 / sizeof(From);
  for (std::int64_t i = 0; i < rows.count; ++i, from += rows.step, to += rows.to_step) {
    if (i + kAttentionRowsAhead < rows.count) {
      const From* const later = from + kAttentionRowsAhead * rows.step;
      for (std::int64_t d = 0; d < rows.width; d += kLine) __builtin_prefetch(later + d);
    }
    const float by = rows.factors[i * rows.factor_step];
    std::int64_t d = 0;
    for (; d + kLanes <= rows.width; d += kLanes) write_scaled<kLanes>(from + d, by, to + d);
    for (; d < rows.width; ++d) write_scaled<1>(from + d, by, to + d);
    for (; d < rows.padded; ++d) to[d] = 0;
  }
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

extern const AttentionLoops WEFT_LOOPS_NAME(attention_loops) = {scores_of,
                                                                add_values,
                                                                soften,
                                                                gradient,
                                                                scale,
                                                                copy_rows<float, float>,
                                                                copy_rows<std::uint16_t, float>,
                                                                copy_rows<float, std::uint16_t>,
                                                                dot_of};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
