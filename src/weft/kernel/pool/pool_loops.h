// max_pool2d and avg_pool2d over one plane in f32, one build for each instruction set; pool.cpp has
// the loops for all other cases.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

// Rows and columns of pixels; of 1, 8 or 16 channels side by side. Each window has a pixel inside.
struct PoolPlane {
  std::int64_t lanes;
  std::int64_t in_height;
  std::int64_t in_width;
  std::int64_t out_height;
  std::int64_t out_width;
  std::int64_t kernel_height;
  std::int64_t kernel_width;
  std::int64_t stride_height;
  std::int64_t stride_width;
  std::int64_t padding_top;
  std::int64_t padding_left;
};

struct PoolLoops {
  // `winners` may be null. REQUIRES: windows of at most 256 pixels; 8 or 16 lanes.
  void (*max_forward)(const PoolPlane& plane, const float* x, float* y, std::uint8_t* winners);
  // REQUIRES: windows that do not overlap and leave no gaps, stride = kernel; no padding; 8 or 16
  // lanes.
  void (*max_backward)(const PoolPlane& plane, const float* dy, const std::uint8_t* winners,
                       float* dx);
  // Sums, row by row, times `share`. REQUIRES: no padding.
  void (*avg_forward)(const PoolPlane& plane, const float* x, float* y, float share);
};

// pool_loops(): the loops for this processor.
WEFT_MEMORY_LOOPS(PoolLoops, pool_loops)

}  // namespace weft
