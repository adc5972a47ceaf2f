// DeviceAllocator: the memory of one kind of device.
//
// Storage requests the blocks of Arrays from it, and Array::to(Device) copies between that memory
// and the host's. The CPU uses Storage's own pool and no allocator. A pool for another device is an
// implementation of this interface.
// Threads: any thread may call; an implementation locks what it shares.
// Fails: a kind without an allocator in the program throws std::invalid_argument "[device] expected
// ..., got ...".
#pragma once

#include <cstddef>

#include "weft/array/storage/device.h"

namespace weft {

class DeviceAllocator {
 public:
  virtual ~DeviceAllocator() = default;

  // A block of at least `size_bytes` > 0, aligned to Storage::kAlignment, contents undefined.
  // Throws std::bad_alloc where the device `index` has no more, std::invalid_argument where there
  // is no such device.
  virtual void* allocate(std::size_t size_bytes, int index) = 0;
  // Takes back what allocate() gave, with the same size and index.
  virtual void release(void* block, std::size_t size_bytes, int index) noexcept = 0;

  // Copies `size_bytes` between a place in a block of the device and host memory; done on return.
  virtual void copy_to_host(const void* device_bytes, void* host_bytes, std::size_t size_bytes,
                            int index) = 0;
  virtual void copy_from_host(const void* host_bytes, void* device_bytes, std::size_t size_bytes,
                              int index) = 0;
};

// From now on `allocator`, which must outlive every Array, has the memory of this kind; null takes
// it away. Before the first Array of the kind is made. REQUIRES: not the CPU.
void set_device_allocator(Device::Kind kind, DeviceAllocator* allocator);
// Throws for the CPU and for a kind without one.
DeviceAllocator& device_allocator(Device device);

}  // namespace weft
