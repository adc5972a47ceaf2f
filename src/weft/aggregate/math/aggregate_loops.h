// AggregateLoops: the loops over the elements of updates, compiled once for each instruction set.
//
// All give the same bits: every coordinate and every pair of updates has its own sum, in one order.
// Threads: any. Fails: never.
#pragma once

#include <cstddef>

#include "weft/base/isa/isa_loops.h"

namespace weft {

// How many updates are measured against as many others at a time.
inline constexpr std::size_t kMeasuredTogether = 4;
// How many elements of a pair are added up in f32 before their sums go to f64.
inline constexpr std::size_t kMeasuredRun = 256;

struct AggregateLoops {
  // sums[j * kMeasuredTogether + k] = the squared distance between a[j] and b[k]. Differences and
  // squares are f32. Element i belongs to the partial sum i modulo 16, which adds up in f32 for
  // kMeasuredRun elements, and these in f64; then the partial sums are added in order. Elements
  // beyond the last 16 are f64 and come last. The relative error is at most about 20 * 2^-24,
  // unless squares leave the range of f32.
  void (*distances)(const float* const* a, const float* const* b, std::size_t count, double* sums);
  // The same for one pair, all in f64.
  double (*wide_distance)(const float* a, const float* b, std::size_t count);
  // sums[i] += weight values[i]
  void (*add)(double* sums, const float* values, double weight, std::size_t count);
  // out[i] = weights[0] inputs[0][i] + weights[1] inputs[1][i] + ... of `count` inputs, in this
  // order and in f64; infinity for NaN and 0 for -0, so that values have one order.
  void (*mix)(const float* const* inputs, const double* weights, std::size_t count, float* out,
              std::size_t columns);
  // out[i] = values[i], in the same way.
  void (*copy)(const float* values, float* out, std::size_t count);
};

// aggregate_loops(): the loops for this processor.
WEFT_LOOPS(AggregateLoops, aggregate_loops)

}  // namespace weft
