// max_pool2d over one plane of 8 channels side by side, one build for each instruction set;
// pool.cpp has the loops for all other cases.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

// Channels side by side.
inline constexpr std::int64_t kPoolLanes = 8;

// Windows are inside the plane: no padding. Rows and columns of pixels of 8 floats.
struct PoolPlane {
  std::int64_t in_height;
  std::int64_t in_width;
  std::int64_t out_height;
  std::int64_t out_width;
  std::int64_t kernel_height;
  std::int64_t kernel_width;
  std::int64_t stride_height;
  std::int64_t stride_width;
};

struct PoolLoops {
  // `winners` may be null. REQUIRES: windows of at most 256 pixels.
  void (*max_forward)(const PoolPlane& plane, const float* x, float* y, std::uint8_t* winners);
  // REQUIRES: windows that do not overlap and leave no gaps: stride = kernel.
  void (*max_backward)(const PoolPlane& plane, const float* dy, const std::uint8_t* winners,
                       float* dx);
};

WEFT_MEMORY_LOOPS(PoolLoops, pool_loops)

}  // namespace weft
