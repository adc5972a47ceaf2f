#include "weft/array/storage/device.h"

#include <array>
#include <stdexcept>

#include "weft/array/storage/device_allocator.h"
#include "weft/base/check.h"
#include "weft/base/thread.h"

namespace weft {
namespace {

constexpr std::array<const char*, Device::kKinds> kKindNames = {"cpu", "cuda", "test"};

using Allocators = std::array<Atomic<DeviceAllocator*>, Device::kKinds>;

Allocators& allocators() {
  static Allocators table{};
  return table;
}

std::size_t index_of(Device::Kind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

std::string to_string(Device device) {
  std::string text = kKindNames[index_of(device.kind)];
  if (!device.is_cpu()) text += ":" + std::to_string(device.index);
  return text;
}

void set_device_allocator(Device::Kind kind, DeviceAllocator* allocator) {
  WEFT_CHECK(kind != Device::Kind::kCpu);
  allocators()[index_of(kind)].store(allocator);
}

DeviceAllocator& device_allocator(Device device) {
  DeviceAllocator* const found = allocators()[index_of(device.kind)].load();
  if (found != nullptr) return *found;
  std::string known = "cpu";
  for (std::size_t kind = 1; kind < allocators().size(); ++kind) {
    if (allocators()[kind].load() != nullptr) known += std::string(" or ") + kKindNames[kind];
  }
  throw std::invalid_argument("[device] expected a device that this program has (" + known +
                              "), got " + to_string(device));
}

}  // namespace weft
