// Values for the samples of the op table.
#pragma once

#include <cstdint>

#include "weft/array/array.h"

namespace weft {

// f64, contiguous, uniform in [low, high), the same for the same seed. No two values lie closer
// than (high - low) / (8 * size), so that a finite difference crosses no kink of max or relu.
Array sample_values(const Shape& shape, std::uint64_t seed, double low = -1.0, double high = 1.0);

}  // namespace weft
