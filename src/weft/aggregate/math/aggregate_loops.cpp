// The loops of aggregate_loops.h, compiled once for each instruction set.
//
// sort() is Batcher's merge exchange (D. E. Knuth, "The art of computer programming", volume 3,
// algorithm 5.2.2M): which rows are compared depends on their number alone, so that all columns of
// a block are sorted at once.
#include "weft/aggregate/math/aggregate_loops.h"

#include <limits>

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

constexpr std::size_t kPartialSums = 8;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Floats [[gnu::vector_size(4 * kPartialSums), gnu::aligned(4), gnu::may_alias]] = float;
using Doubles [[gnu::vector_size(8 * kPartialSums)]] = double;

// As many of `a` as have their sums in registers.
constexpr std::size_t kRowsTogether = WEFT_LANES == 16 ? kMeasuredTogether : 1;

void rows_of_distances(const float* const* a, const float* const* b, std::size_t count,
                       double* sums) {
  Doubles partial[kRowsTogether][kMeasuredTogether] = {};
  const std::size_t whole = count / kPartialSums * kPartialSums;
  for (std::size_t i = 0; i < whole; i += kPartialSums) {
    Doubles other[kMeasuredTogether];
    for (std::size_t k = 0; k < kMeasuredTogether; ++k) {
      other[k] = __builtin_convertvector(*reinterpret_cast<const Floats*>(b[k] + i), Doubles);
    }
    for (std::size_t j = 0; j < kRowsTogether; ++j) {
      const Doubles one =
          __builtin_convertvector(*reinterpret_cast<const Floats*>(a[j] + i), Doubles);
      for (std::size_t k = 0; k < kMeasuredTogether; ++k) {
        const Doubles difference = one - other[k];
        partial[j][k] += difference * difference;
      }
    }
  }
  for (std::size_t at = 0; at < kRowsTogether * kMeasuredTogether; ++at) {
    const std::size_t j = at / kMeasuredTogether;
    const std::size_t k = at % kMeasuredTogether;
    for (std::size_t i = whole; i < count; ++i) {
      const double difference = static_cast<double>(a[j][i]) - static_cast<double>(b[k][i]);
      partial[j][k][i - whole] += difference * difference;
    }
    double sum = 0;
    for (std::size_t i = 0; i < kPartialSums; ++i) sum += partial[j][k][i];
    sums[at] = sum;
  }
}

void distances(const float* const* a, const float* const* b, std::size_t count, double* sums) {
  for (std::size_t j = 0; j < kMeasuredTogether; j += kRowsTogether) {
    rows_of_distances(a + j, b, count, sums + j * kMeasuredTogether);
  }
}

void add(double* __restrict sums, const float* __restrict values, double weight,
         std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += weight * static_cast<double>(values[i]);
}

void round(const double* __restrict sums, float* __restrict out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(sums[i]) + 0.0F;
    out[i] = value == value ? value : kInfinity;
  }
}

void copy(const float* __restrict values, float* __restrict out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float value = values[i] + 0.0F;
    out[i] = value == value ? value : kInfinity;
  }
}

void order(float* __restrict low, float* __restrict high, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float a = low[i];
    const float b = high[i];
    low[i] = b < a ? b : a;
    high[i] = b < a ? a : b;
  }
}

void sort(float* values, std::size_t rows, std::size_t stride, std::size_t count) {
  std::size_t first = 1;
  while (2 * first < rows) first *= 2;
  for (std::size_t p = first; p > 0 && rows > 1; p /= 2) {
    std::size_t rest = 0;
    std::size_t distance = p;
    for (std::size_t q = first;; q /= 2) {
      for (std::size_t i = 0; i + distance < rows; ++i) {
        if ((i & p) != rest) continue;
        order(values + i * stride, values + (i + distance) * stride, count);
      }
      if (q == p) break;
      distance = q - p;
      rest = p;
    }
  }
}

}  // namespace

extern const AggregateLoops WEFT_LOOPS_NAME(aggregate_loops) = {
    .distances = distances, .add = add, .round = round, .copy = copy, .sort = sort};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
