// Compiled with full vectorisation (see CMakeLists.txt).
#include "weft/data/image/pixels.h"

#include "weft/base/check.h"

namespace weft {

void convert_pixels(std::span<const std::uint8_t> pixels, float scale, float shift,
                    std::span<float> out) {
  WEFT_CHECK(pixels.size() == out.size());
  const std::uint8_t* __restrict from = pixels.data();
  float* __restrict to = out.data();
  const std::size_t size = pixels.size();
  for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<float>(from[i]) * scale + shift;
}

}  // namespace weft
