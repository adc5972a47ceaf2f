// Values for tests of sorting: ties and infinities among others, no NaN and no -0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "weft/base/rng.h"

namespace weft {

// A few different values among many, some infinite.
inline std::vector<float> random_values_with_ties(std::size_t size, Rng& rng) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values(size);
  for (float& value : values) {
    const std::uint64_t kind = rng.below(12);
    value = static_cast<float>(rng.normal());
    if (kind == 0) value = 0;
    if (kind == 1) value = 1;
    if (kind == 2) value = rng.below(2) == 0 ? kInfinity : -kInfinity;
  }
  return values;
}

}  // namespace weft
