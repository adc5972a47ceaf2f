// Checks of sizes in the constructors of layers. For nn/*/*.cpp.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "weft/array/pair.h"

namespace weft {

struct LayerSize {
  const char* name;  // as the user writes it, a literal
  std::int64_t value;
};
// Throws std::invalid_argument naming `layer` and the size that is below 1.
void require_positive(const char* layer, std::initializer_list<LayerSize> sizes);

// Checks the sizes of a convolution: kernel, stride and dilation are at least 1, paddings at least
// 0.
struct WindowSizes {
  Pair kernel = 1;
  Pair stride = 1;
  Pair padding = 0;
  Pair output_padding = 0;
  Pair dilation = 1;
};
void require_window(const char* layer, const WindowSizes& sizes);
// The same, and that `groups` divides both numbers of channels.
void require_groups(const char* layer, std::int64_t groups, std::int64_t inputs,
                    std::int64_t outputs);

}  // namespace weft
