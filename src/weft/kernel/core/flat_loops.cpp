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

// Rows that are added in one pass over the sums, one after another. Those of the next pass are
// fetched meanwhile: rows are often longer than the page within which a processor fetches ahead.
constexpr std::int64_t kRowsAtOnce = 4;

inline void add_rows(const float* rows, std::int64_t step, float* sums) {
  using Line [[gnu::vector_size(64)]] = float;
  Line sum;
  __builtin_memcpy(&sum, sums, sizeof sum);
#pragma GCC unroll 4
  for (std::int64_t r = 0; r < kRowsAtOnce; ++r) {
    Line row;
    __builtin_memcpy(&row, rows + r * step, sizeof row);
    __builtin_prefetch(rows + (r + kRowsAtOnce) * step);
    sum += row;
  }
  __builtin_memcpy(sums, &sum, sizeof sum);
}

void column_sums(const FlatLoops::Rows& given, float* __restrict sums, std::int64_t begin,
                 std::int64_t end) {
  constexpr std::int64_t kLine = 16;
  const FlatLoops::Rows rows = given;
  const std::int64_t whole = end - (end - begin) % kLine;
  std::int64_t i = 0;
  for (; i + kRowsAtOnce <= rows.count; i += kRowsAtOnce) {
    const float* const first = rows.data + i * rows.step;
    for (std::int64_t j = begin; j < whole; j += kLine) add_rows(first + j, rows.step, sums + j);
    for (std::int64_t j = whole; j < end; ++j) {
      for (std::int64_t r = 0; r < kRowsAtOnce; ++r) sums[j] += first[r * rows.step + j];
    }
  }
  for (; i < rows.count; ++i) {
    const float* const row = rows.data + i * rows.step;
    for (std::int64_t j = begin; j < end; ++j) sums[j] += row[j];
  }
}

}  // namespace

extern const FlatLoops WEFT_LOOPS_NAME(flat_loops) = {relu, relu_gradient_values, add, column_sums};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
