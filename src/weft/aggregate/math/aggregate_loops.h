// AggregateLoops: the loops over the elements of updates, compiled once for each instruction set.
//
// All give the same bits: every coordinate and every pair of updates has its own sum in double, in
// one order, and sorting moves values without changing them. Threads: any. Fails: never.
#pragma once

#include <cstddef>

#include "weft/base/isa/isa_loops.h"

namespace weft {

// How many updates are measured against as many others at a time.
inline constexpr std::size_t kMeasuredTogether = 4;

struct AggregateLoops {
  // sums[j * kMeasuredTogether + k] = the squared distance between a[j] and b[k], in which element
  // i belongs to the partial sum i modulo 8; the partial sums are added in order.
  void (*distances)(const float* const* a, const float* const* b, std::size_t count, double* sums);
  // sums[i] += weight values[i]
  void (*add)(double* sums, const float* values, double weight, std::size_t count);
  // out[i] = sums[i], infinity for NaN and 0 for -0, so that values have one order.
  void (*round)(const double* sums, float* out, std::size_t count);
  // out[i] = values[i], in the same way.
  void (*copy)(const float* values, float* out, std::size_t count);
  // Each column of a table of `rows` rows of `stride` values, sorted, smallest first, in its first
  // `count` columns. REQUIRES: no NaN, no -0.
  void (*sort)(float* values, std::size_t rows, std::size_t stride, std::size_t count);
};

// aggregate_loops(): the loops for this processor.
WEFT_LOOPS(AggregateLoops, aggregate_loops)

}  // namespace weft
