// The loops of aggregate_loops.h, compiled once for each instruction set.
#include "weft/aggregate/math/aggregate_loops.h"

#include <limits>

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

constexpr std::size_t kLanes = WEFT_LANES;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Floats [[gnu::vector_size(4 * kLanes), gnu::aligned(4), gnu::may_alias]] = float;

constexpr std::size_t kPartialSums = 16;
constexpr std::size_t kParts = kPartialSums / kLanes;
static_assert(kPartialSums % kLanes == 0);
static_assert(kMeasuredRun % kPartialSums == 0);

// As many of `a` as have their sums in registers.
constexpr std::size_t kRowsTogether = kLanes == 16 ? kMeasuredTogether : 2;

constexpr std::size_t kPairs = kRowsTogether * kMeasuredTogether;

// The partial sums of the pairs of some of `a` with all of `b`; kLanes of them are side by side.
struct Partial {
  double sums[kParts][kPairs * kLanes];
};

// Adds the elements [begin, end), whole groups of kPartialSums, in f32 first.
void add_run(const float* const* a, const float* const* b, std::size_t begin, std::size_t end,
             Partial& partial) {
  for (std::size_t part = 0; part < kParts; ++part) {
    Floats sums[kPairs] = {};
    for (std::size_t i = begin + part * kLanes; i < end; i += kPartialSums) {
      Floats other[kMeasuredTogether];
      for (std::size_t k = 0; k < kMeasuredTogether; ++k) {
        other[k] = *reinterpret_cast<const Floats*>(b[k] + i);
      }
      for (std::size_t j = 0; j < kRowsTogether; ++j) {
        const Floats one = *reinterpret_cast<const Floats*>(a[j] + i);
        for (std::size_t k = 0; k < kMeasuredTogether; ++k) {
          const Floats difference = one - other[k];
          sums[j * kMeasuredTogether + k] += difference * difference;
        }
      }
    }
    float stored[kPairs * kLanes];
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      *reinterpret_cast<Floats*>(stored + pair * kLanes) = sums[pair];
    }
    double* const wide = partial.sums[part];
    for (std::size_t i = 0; i < kPairs * kLanes; ++i) wide[i] += static_cast<double>(stored[i]);
  }
}

void rows_of_distances(const float* const* a, const float* const* b, std::size_t count,
                       double* sums) {
  Partial partial = {};
  const std::size_t whole = count / kPartialSums * kPartialSums;
  for (std::size_t i = 0; i < whole; i += kMeasuredRun) {
    add_run(a, b, i, whole - i < kMeasuredRun ? whole : i + kMeasuredRun, partial);
  }
  for (std::size_t at = 0; at < kPairs; ++at) {
    const std::size_t j = at / kMeasuredTogether;
    const std::size_t k = at % kMeasuredTogether;
    double sum = 0;
    for (std::size_t i = 0; i < kPartialSums; ++i)
      sum += partial.sums[i / kLanes][at * kLanes + i % kLanes];
    for (std::size_t i = whole; i < count; ++i) {
      const double difference = static_cast<double>(a[j][i]) - static_cast<double>(b[k][i]);
      sum += difference * difference;
    }
    sums[at] = sum;
  }
}

void distances(const float* const* a, const float* const* b, std::size_t count, double* sums) {
  for (std::size_t j = 0; j < kMeasuredTogether; j += kRowsTogether) {
    rows_of_distances(a + j, b, count, sums + j * kMeasuredTogether);
  }
}

double wide_distance(const float* __restrict a, const float* __restrict b, std::size_t count) {
  double partial[kPartialSums] = {};
  const std::size_t whole = count / kPartialSums * kPartialSums;
  for (std::size_t at = 0; at < count; at += kPartialSums) {
    const std::size_t end = at < whole ? kPartialSums : count - whole;
    for (std::size_t i = 0; i < end; ++i) {
      const double difference = static_cast<double>(a[at + i]) - static_cast<double>(b[at + i]);
      partial[i] += difference * difference;
    }
  }
  double sum = 0;
  for (std::size_t i = 0; i < kPartialSums; ++i) sum += partial[i];
  return sum;
}

void add(double* __restrict sums, const float* __restrict values, double weight,
         std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += weight * static_cast<double>(values[i]);
}

// Half as many columns as a register has lanes of f32: its sums fill one in f64.
constexpr std::size_t kHalf = kLanes / 2;
constexpr std::size_t kMixedTogether = 4;
using HalfDoubles [[gnu::vector_size(8 * kHalf)]] = double;

static_assert(kHalf == 4 || kHalf == 8);
// g++ takes one instruction for a list of conversions, and six for __builtin_convertvector().
[[gnu::always_inline]] inline HalfDoubles widened(const float* v) {
#if WEFT_LANES == 16
  return HalfDoubles{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]};
#else
  return HalfDoubles{v[0], v[1], v[2], v[3]};
#endif
}

inline float one_order(float value) {
  const float without_sign_of_zero = value + 0.0F;
  return without_sign_of_zero == without_sign_of_zero ? without_sign_of_zero : kInfinity;
}

// kMixedTogether * kHalf columns, whose sums stay in registers.
void mix_some(const float* const* inputs, const double* weights, std::size_t count, std::size_t at,
              float* out) {
  HalfDoubles sums[kMixedTogether] = {};
  for (std::size_t input = 0; input < count; ++input) {
    const HalfDoubles weight = weights[input] - HalfDoubles{};
    for (std::size_t k = 0; k < kMixedTogether; ++k) {
      sums[k] += weight * widened(inputs[input] + at + k * kHalf);
    }
  }
  double stored[kMixedTogether * kHalf];
  __builtin_memcpy(stored, sums, sizeof stored);
  for (std::size_t i = 0; i < kMixedTogether * kHalf; ++i) {
    out[i] = one_order(static_cast<float>(stored[i]));
  }
}

void mix(const float* const* inputs, const double* weights, std::size_t count,
         float* __restrict out, std::size_t columns) {
  constexpr std::size_t kStep = kMixedTogether * kHalf;
  const std::size_t whole = columns / kStep * kStep;
  for (std::size_t at = 0; at < whole; at += kStep) {
    mix_some(inputs, weights, count, at, out + at);
  }
  for (std::size_t at = whole; at < columns; ++at) {
    double sum = 0;
    for (std::size_t input = 0; input < count; ++input) {
      sum += weights[input] * static_cast<double>(inputs[input][at]);
    }
    out[at] = one_order(static_cast<float>(sum));
  }
}

void copy(const float* __restrict values, float* __restrict out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = one_order(values[i]);
  }
}

}  // namespace

extern const AggregateLoops WEFT_LOOPS_NAME(aggregate_loops) = {
    .distances = distances, .wide_distance = wide_distance, .add = add, .mix = mix, .copy = copy};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
