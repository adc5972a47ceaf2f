// The loops of flat_loops.h, compiled once for each instruction set.
#include "weft/kernel/core/flat_loops.h"

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

// NaN stays NaN.
void relu(const float* x, float* y, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) y[i] = x[i] < 0.0F ? 0.0F : x[i];
}

void relu_gradient_values(const float* dy, const float* y, float* dx, std::int64_t begin,
                          std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float gradient = dy[i];
    dx[i] = y[i] > 0.0F ? gradient : 0.0F;
  }
}

void add(const float* __restrict from, float* __restrict into, std::int64_t begin,
         std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) into[i] += from[i];
}

void column_sums(const FlatLoops::Rows& rows, float* __restrict sums, std::int64_t begin,
                 std::int64_t end) {
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const float* __restrict const row = rows.data + i * rows.step;
    for (std::int64_t j = begin; j < end; ++j) sums[j] += row[j];
  }
}

}  // namespace

extern const FlatLoops WEFT_LOOPS_NAME(flat_loops) = {relu, relu_gradient_values, add, column_sums};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
