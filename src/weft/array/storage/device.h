// Device: where an Array's bytes live. A back end for another kind of device adds kernels for it
// (kernel/<kind>/) and storage that it allocates itself; nothing above kernel looks inside.
#pragma once

#include <cstdint>

namespace weft {

struct Device {
  enum class Kind : std::uint8_t { kCpu, kCuda };
  Kind kind = Kind::kCpu;
  int index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

}  // namespace weft
