// Images [N, C, H, W] at another size, by the nearest pixel or linearly between pixels, and the
// gradient of that; f32 and f64.
//
// Deterministic: the same bits for any thread count. Threads: the calling thread and the compute
// threads.
#pragma once

#include <cstdint>

#include "weft/array/array.h"
#include "weft/array/pair.h"

namespace weft {

struct UpsampleSpec {
  Pair size = 1;        // {height, width} of the result
  bool linear = false;  // else the nearest pixel
  // The corner pixels' middles stay where they are; else the images' edges do.
  bool align_corners = false;
};

Array upsample2d_forward(const Array& x, const UpsampleSpec& spec);
Array upsample2d_backward(const Array& dy, const Shape& x_shape, const UpsampleSpec& spec);

}  // namespace weft
