// FlatLoops: one pass over dense f32 memory, one build for each instruction set. All give the same
// bits in each build: nothing is contracted and sums go in the order of the memory.
//
// For this folder. Ranges are [begin, end) so that threads can share a call's arguments.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

struct FlatLoops {
  // y = max(x, 0), 0 for NaN-free input; y may be x.
  void (*relu)(const float* x, float* y, std::int64_t begin, std::int64_t end);
  // dx = y > 0 ? dy : 0; dx may be dy.
  void (*relu_gradient)(const float* dy, const float* y, float* dx, std::int64_t begin,
                        std::int64_t end);
  // into += from.
  void (*add)(const float* from, float* into, std::int64_t begin, std::int64_t end);
  // sums[j] += row[i][j] over `rows` rows at distance `step`, for j in [begin, end).
  struct Rows {
    const float* data;
    std::int64_t step;
    std::int64_t count;
  };
  void (*column_sums)(const Rows& rows, float* sums, std::int64_t begin, std::int64_t end);
};

// flat_loops(): the loops for this processor.
WEFT_MEMORY_LOOPS(FlatLoops, flat_loops)

}  // namespace weft
