// Device: where an Array's bytes live, and computing on them happens.
//
// A value. The CPU is the default; kTest is a second device for tests alone (array/test_device.h),
// kCuda is a name that no build has kernels for yet. docs/HACKING.md says how to add a device.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

struct Device {
  enum class Kind : std::uint8_t { kCpu, kCuda, kTest };
  static constexpr int kKinds = 3;

  Kind kind = Kind::kCpu;
  int index = 0;  // among the devices of this kind, from 0

  static constexpr Device cpu() { return {}; }
  constexpr bool is_cpu() const { return kind == Kind::kCpu; }
  friend bool operator==(const Device&, const Device&) = default;
};

// "cpu", and "cuda:0" or "test:1" for others: a kind with its index.
std::string to_string(Device device);

}  // namespace weft
