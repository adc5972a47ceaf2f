// max_pool2d over one plane of 8 channels side by side, with AVX2; pool.cpp has the loops for all
// other cases.
#pragma once

#include <cstdint>

namespace weft {

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

#if defined(__x86_64__)
extern const PoolLoops kPoolLoopsAvx2;
#endif

}  // namespace weft
