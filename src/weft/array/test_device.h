// TestDevice: a second device for tests, whose memory faults when the host touches it.
//
//   const TestDevice device;
//   Array x = Array::from(values, {4}).to(device.device());
//
// Its blocks are pages of their own that can neither be read nor written, but while a kernel of the
// device runs: then those of the kernel's operands are open, and no others. Its one row of the
// kernel table runs the body of the CPU on them, so it has the CPU's bits. A kernel that forgets an
// operand, an operation that reads memory outside of a launch, and a host span taken of an array
// all end in a fault.
// While none lives, the program has no such device: the last one takes its row's effect away with
// the allocator, and Arrays of it must be gone.
// Threads: one test's; kernels may use compute threads.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "weft/array/kernel_table.h"
#include "weft/array/storage/device_allocator.h"

namespace weft {

// Whole pages, closed.
class ClosedPages final : public DeviceAllocator {
 public:
  void* allocate(std::size_t size_bytes, int) override {
    void* const block =
        mmap(nullptr, in_pages(size_bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) throw std::bad_alloc();
    return block;
  }
  void release(void* block, std::size_t size_bytes, int) noexcept override {
    munmap(block, in_pages(size_bytes));
  }
  void copy_to_host(const void* device_bytes, void* host_bytes, std::size_t size_bytes,
                    int) override {
    if (size_bytes == 0) return;
    const Open open(device_bytes, size_bytes);
    std::memcpy(host_bytes, device_bytes, size_bytes);
  }
  void copy_from_host(const void* host_bytes, void* device_bytes, std::size_t size_bytes,
                      int) override {
    if (size_bytes == 0) return;
    const Open open(device_bytes, size_bytes);
    std::memcpy(device_bytes, host_bytes, size_bytes);
  }

  // The pages that these bytes touch can be read and written while one lives.
  class Open {
   public:
    Open(const void* bytes, std::size_t size_bytes)
        : first_(page_of(bytes)),
          size_bytes_(in_pages(static_cast<std::size_t>(static_cast<const char*>(bytes) - first_) +
                               size_bytes)) {
      mprotect(first_, size_bytes_, PROT_READ | PROT_WRITE);
    }
    ~Open() { mprotect(first_, size_bytes_, PROT_NONE); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    char* first_;
    std::size_t size_bytes_;
  };

 private:
  static std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  static std::size_t in_pages(std::size_t size_bytes) {
    return (size_bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  }
  static char* page_of(const void* bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes);
    return static_cast<char*>(const_cast<void*>(bytes)) - address % page_bytes();
  }
};

// The row of every kernel: the CPU's body while the pages of its operands are open.
inline void run_with_open_pages(const KernelCall& call) {
  std::vector<std::unique_ptr<ClosedPages::Open>> open;
  const HostOperands operands(call, [&](const std::shared_ptr<Storage>& storage) {
    open.push_back(std::make_unique<ClosedPages::Open>(storage->data(), storage->size_bytes()));
    return Storage::wrap(storage->data(), storage->size_bytes(), nullptr);
  });
  operands.run(call);
}

class TestDevice {
 public:
  // `kernel` runs every launch that has no row of its own.
  explicit TestDevice(DeviceKernel kernel = run_with_open_pages) {
    const KernelRow rows[] = {{"", Device::Kind::kTest, kernel}};
    set_device_allocator(Device::Kind::kTest, &memory_);
    add_kernel_rows(rows);
  }
  ~TestDevice() { set_device_allocator(Device::Kind::kTest, nullptr); }
  TestDevice(const TestDevice&) = delete;
  TestDevice& operator=(const TestDevice&) = delete;

  Device device(int index = 0) const { return {Device::Kind::kTest, index}; }

 private:
  ClosedPages memory_;
};

}  // namespace weft
