// Compiled with -O3: the one loop of this folder that touches every byte.
#include <cstring>

#include "weft/collective/reduce/input_pieces.h"

namespace weft {

void add_floats(const std::uint8_t* bytes, const float* values, float* out, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    float received = 0;
    std::memcpy(&received, bytes + i * sizeof(float), sizeof received);
    out[i] = received + values[i];
  }
}

}  // namespace weft
