// MixHistory: a model that one member of a method of loose exchange has sent, as others pass it on
// (sybilwall).
// Threads: values.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace weft {

struct MixHistory {
  std::uint32_t origin = 0;    // whose model it is
  std::uint64_t round = 0;     // in which it was sent
  std::uint32_t distance = 1;  // over how many links it has come: 1 at the origin's neighbours
  std::shared_ptr<const std::vector<float>> model = {};
};

}  // namespace weft
