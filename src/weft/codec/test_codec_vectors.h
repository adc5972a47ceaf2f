// Vectors for tests of codecs. Fails: decoded_by() by an expectation of googletest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/codec/codec.h"

namespace weft {

// Values in [-1, 1).
inline std::vector<float> noise(std::size_t size, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(rng.uniform() * 2 - 1);
  return values;
}

// What `values` are after the codec that `text` names.
inline std::vector<float> decoded(std::string_view text, const std::vector<float>& values) {
  const Codec codec = *Codec::parse(text);
  std::vector<float> out(values.size());
  const Status status = codec.decode(codec.encode(values), out);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

}  // namespace weft
