// Pixels to floats: out[i] = in[i] * scale + shift, rounded twice (never fused), so that every
// machine makes the same bits.
#pragma once

#include <cstdint>
#include <span>

namespace weft {

// REQUIRES: out is as long as `pixels`.
void convert_pixels(std::span<const std::uint8_t> pixels, float scale, float shift,
                    std::span<float> out);

}  // namespace weft
