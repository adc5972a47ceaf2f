// Arrays of random values. For tests.
// Threads: values; an Rng is its owner's. Fails: never.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/rng.h"

namespace weft {

// f32, normally distributed.
inline Array random_array(const Shape& shape, Rng& rng) {
  Array values = Array::empty(shape);
  for (float& value : values.flat<float>()) value = static_cast<float>(rng.normal());
  return values;
}
inline Array random_array(const Shape& shape, std::uint64_t seed) {
  Rng rng(seed);
  return random_array(shape, rng);
}

inline std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
  return random_array({count}, seed).to_vector<float>();
}

}  // namespace weft
