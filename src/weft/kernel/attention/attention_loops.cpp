// The loops of attention_loops.h, compiled once for each instruction set.
#include "weft/kernel/attention/attention_loops.h"

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

#include "weft/kernel/core/vector.inc"

// Contracted where the instruction set has fused multiplications.
inline Vec multiply_add(const Vec& a, const Vec& b, const Vec& c) { return a * b + c; }
inline Vec larger(const Vec& a, const Vec& b) { return a > b ? a : b; }

constexpr std::int64_t kLanes = WEFT_LANES;
// Behind the last value of a row; a tile of a product reads less.
constexpr std::int64_t kTail = 8;

using IntVec [[gnu::vector_size(4 * WEFT_LANES)]] = std::int32_t;

inline Vec all(float value) { return value - Vec{}; }  // in every lane
// Halves of a register are joined until one value is left.
inline float sum_of(const Vec& v) {
  float sums[kLanes];
  store(sums, v);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  return sums[0];
}
inline float largest_of(const Vec& v) {
  float best[kLanes];
  store(best, v);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) best[j] = best[j] > best[j + half] ? best[j] : best[j + half];
  }
  return best[0];
}

// 2^x for x <= 127, within 1.6e-7 of itself; 0 for x <= -127.
// IMPLEMENTATION: x = n + f with n an integer and |f| <= 1/2: adding 1.5 * 2^23 leaves n in the low
// bits, from where it is added to the exponent of 2^f = 1 + f Q(f). Q of degree 4 is fitted by
// reweighted least squares for the least relative error, 9.2e-8 (Lawson 1961). At -127 f is 0 and
// the sum of the exponents too: so -infinity gives 0 without a branch.
inline Vec exp2_of(const Vec& x) {
  const Vec magic = all(12582912.0F);
  const Vec bounded = larger(all(-127.0F), x);
  const Vec shifted = bounded + magic;
  const Vec f = bounded - (shifted - magic);
  Vec p = all(1.326472731307149e-3F);
  p = multiply_add(p, f, all(9.671512991189957e-3F));
  p = multiply_add(p, f, all(5.550733581185341e-2F));
  p = multiply_add(p, f, all(2.402224242687225e-1F));
  p = multiply_add(p, f, all(6.931470036506653e-1F));
  p = multiply_add(p, f, all(1.0F));
  return (Vec)((IntVec)p + ((IntVec)shifted << 23));
}

// The values of the last, incomplete register.
inline void fill_tail(float* row, std::int64_t count, float value) {
  for (std::int64_t i = count; i % kLanes != 0; ++i) row[i] = value;
}

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
  const float least = -__builtin_inff();
  fill_tail(scores, count, least);
  Vec most = load(scores);
  Vec more = most;
  std::int64_t i = kLanes;
  for (; i + kLanes < count; i += 2 * kLanes) {
    most = larger(load(scores + i), most);
    more = larger(load(scores + i + kLanes), more);
  }
  if (i < count) most = larger(load(scores + i), most);
  const float before = softmax.largest;
  const float found = largest_of(larger(more, most));
  const float largest = found > before ? found : before;
  Vec sums = load(softmax.sums);
  float kept = 1.0F;
  if (largest > before && before > least) {
    kept = exp2_of(all(before - largest))[0];
    sums *= kept;
  }
  // Where nothing may be read, infinity less infinity would be no number.
  const Vec top = all(largest == least ? 0.0F : largest);
#pragma GCC unroll 2
  for (i = 0; i < count; i += kLanes) {
    const Vec share = exp2_of(load(scores + i) - top);
    store(scores + i, share);
    sums += share;
  }
  store(softmax.sums, sums);
  softmax.largest = largest;
  clear_behind(scores, count);
  return kept;
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
