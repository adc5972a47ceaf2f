// The table of kernels by device: which function runs a launch on arrays of another device than the
// CPU. A row is {name of the launch, kind of device, function}.
//
//   constexpr KernelRow kRows[] = {{"softmax", Device::Kind::kCuda, cuda_softmax}, ...};
//   add_kernel_rows(kRows);
//
// Where it stands: launch() (launch.h) looks here, and nobody else. The CPU needs no row: the
// launch has its body, which chooses loops by instruction set (base/isa.h).
// A row whose name is empty is its device's fallback: it runs every launch that has no row of its
// own. run_on_host() is one for any device: it copies the operands to the host, computes there and
// copies the results back. So a device is complete with an allocator and that row, and becomes fast
// a row at a time.
// Threads: rows are added before arrays of the device are made; looking up is for any thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "weft/array/launch_body.h"
#include "weft/array/storage/device.h"

namespace weft {

// One launch. Valid during the call.
struct KernelCall {
  const char* name;
  // The device of all defined operands. raw_data() is an address on that device.
  Device device;
  LaunchArrays in;
  LaunchArrays out;
  // The body that the CPU runs, on arrays on the CPU.
  LaunchBody& cpu_body;
  // The loop of an elementwise launch.
  const ElementwiseLoop* elementwise = nullptr;

  // The plain values of the launch, if its body is a `Body`: a struct whose members they are, in
  // place of a lambda. Null for another body.
  template <class Body>
  const Body* options() const {
    const auto* const known = dynamic_cast<const internal::LaunchBodyOf<Body>*>(&cpu_body);
    return known == nullptr ? nullptr : &known->body();
  }
};

// Writes the outputs; throws as a body does. Done on return, as far as anyone can see who asks the
// device for the values.
using DeviceKernel = void (*)(const KernelCall& call);

struct KernelRow {
  std::string_view name;  // a literal's; empty: the fallback
  Device::Kind device;
  DeviceKernel run;
};

// A row replaces an earlier one of the same name and device. REQUIRES: not the CPU's.
void add_kernel_rows(std::span<const KernelRow> rows);
// Null if there is neither such a row nor a fallback.
DeviceKernel find_kernel(std::string_view name, Device::Kind device);

// Runs the body of the CPU on copies of the operands in host memory. Operands that share a storage
// share the copy of it.
void run_on_host(const KernelCall& call);

// The operands of a call as arrays of the CPU over other storages: what a row needs that runs the
// CPU's body. Operands that share a storage share the other one.
class HostOperands {
 public:
  // `host_storage` gives the storage of the CPU that stands for one of the device.
  using HostStorage = std::function<std::shared_ptr<Storage>(const std::shared_ptr<Storage>&)>;
  HostOperands(const KernelCall& call, const HostStorage& host_storage);

  // Runs the body.
  void run(const KernelCall& call) const;

 private:
  std::vector<Array> arrays_;  // inputs, then outputs
  std::vector<const Array*> operands_;
};

}  // namespace weft
