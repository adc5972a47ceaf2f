// max_pool2d and avg_pool2d over one plane, one build for each instruction set; pool.cpp has the
// loops for all other cases.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

// Rows and columns of pixels; of 1, 8 or 16 channels side by side. Each window has a pixel inside.
// Forward passes compute rows [out_begin, out_end) of the results; x and y begin with the plane.
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
  std::int64_t out_begin;
  std::int64_t out_end;
};

// For values of type T: float, or the bits of bf16.
template <class T>
struct MaxPoolLoops {
  // `winners` may be null. REQUIRES: windows of at most 256 pixels; 8 or 16 lanes.
  void (*forward)(const PoolPlane& plane, const T* x, T* y, std::uint8_t* winners);
  // REQUIRES: windows that do not overlap and leave no gaps, stride = kernel; no padding; 8 or 16
  // lanes.
  void (*backward)(const PoolPlane& plane, const T* dy, const std::uint8_t* winners, T* dx);
};

struct PoolLoops {
  MaxPoolLoops<float> max;
  MaxPoolLoops<std::uint16_t> max_of_bf16;
  // Sums, row by row, times `share`. REQUIRES: no padding.
  void (*avg_forward)(const PoolPlane& plane, const float* x, float* y, float share);
};

// pool_loops(): the loops for this processor.
WEFT_MEMORY_LOOPS(PoolLoops, pool_loops)

}  // namespace weft
