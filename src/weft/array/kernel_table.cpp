#include "weft/array/kernel_table.h"

#include <cstddef>
#include <map>
#include <utility>

#include "weft/array/bad_argument.h"
#include "weft/array/launch.h"
#include "weft/array/storage/device_allocator.h"
#include "weft/base/check.h"
#include "weft/base/thread.h"

namespace weft {
namespace {

using Key = std::pair<Device::Kind, std::string_view>;

Guarded<std::map<Key, DeviceKernel>>& rows_by_key() {
  // Never destroyed: arrays may outlive it. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
  static auto& rows = *new Guarded<std::map<Key, DeviceKernel>>();
  return rows;
}

// The device of all operands that are defined; throws where they are on two.
Device common_device(const LaunchNote& note) {
  const Array* first = nullptr;
  const auto look_at = [&](const Array& array) {
    if (!array.defined()) return;
    if (first == nullptr) first = &array;
    if (array.device() == first->device()) return;
    throw_bad_argument(note.name, "operands on one device",
                       to_string(first->device()) + " and " + to_string(array.device()) +
                           "; copy one of them with to(device)");
  };
  for (const Array* const array : note.inputs) look_at(*array);
  for (const Array* const array : note.outputs) look_at(*array);
  WEFT_CHECK(first != nullptr);
  return first->device();
}

// A storage of the device and the copy of its bytes in host memory.
struct HostCopy {
  std::shared_ptr<Storage> device;
  std::shared_ptr<Storage> host;
};

}  // namespace

void add_kernel_rows(std::span<const KernelRow> rows) {
  rows_by_key().with([&](std::map<Key, DeviceKernel>& known) {
    for (const KernelRow& row : rows) {
      WEFT_CHECK(row.device != Device::Kind::kCpu && row.run != nullptr);
      known[{row.device, row.name}] = row.run;
    }
  });
}

DeviceKernel find_kernel(std::string_view name, Device::Kind device) {
  return rows_by_key().with([&](const std::map<Key, DeviceKernel>& known) -> DeviceKernel {
    auto row = known.find({device, name});
    if (row == known.end()) row = known.find({device, std::string_view()});
    return row == known.end() ? nullptr : row->second;
  });
}

HostOperands::HostOperands(const KernelCall& call, const HostStorage& host_storage) {
  const auto count =
      static_cast<std::size_t>(call.in.size()) + static_cast<std::size_t>(call.out.size());
  std::map<const Storage*, std::shared_ptr<Storage>> known;
  arrays_.reserve(count);
  const auto add = [&](const Array& array) {
    if (!array.defined()) {
      arrays_.push_back(array);
      return;
    }
    std::shared_ptr<Storage>& host = known[array.storage().get()];
    if (host == nullptr) host = host_storage(array.storage());
    arrays_.push_back(array.rebound(host, array.offset()));
  };
  for (int i = 0; i < call.in.size(); ++i) add(call.in[i]);
  for (int i = 0; i < call.out.size(); ++i) add(call.out[i]);
  for (const Array& array : arrays_) operands_.push_back(&array);
}

void HostOperands::run(const KernelCall& call) const {
  const auto inputs = static_cast<std::size_t>(call.in.size());
  call.cpu_body.run({operands_.data(), inputs},
                    {operands_.data() + inputs, operands_.size() - inputs});
}

void run_on_host(const KernelCall& call) {
  DeviceAllocator& memory = device_allocator(call.device);
  const int index = call.device.index;
  std::vector<HostCopy> copies;
  const HostOperands operands(call, [&](const std::shared_ptr<Storage>& storage) {
    const std::size_t bytes = storage->size_bytes();
    copies.push_back({storage, Storage::allocate(bytes)});
    memory.copy_to_host(storage->data(), copies.back().host->data(), bytes, index);
    return copies.back().host;
  });
  operands.run(call);
  for (const HostCopy& copy : copies) {
    bool written = false;
    for (int i = 0; i < call.out.size(); ++i) {
      written = written || call.out[i].storage() == copy.device;
    }
    if (!written) continue;
    memory.copy_from_host(copy.host->data(), copy.device->data(), copy.device->size_bytes(), index);
  }
}

namespace internal {

void launch_on_device(const LaunchNote& note, LaunchBody& body) {
  const Device device = common_device(note);
  if (internal::current_recorder != nullptr) {
    throw_bad_argument("capture", "arrays on the cpu",
                       std::string("\"") + note.name + "\" on " + to_string(device) +
                           "; compute it without capture()");
  }
  const DeviceKernel kernel = find_kernel(note.name, device.kind);
  if (kernel == nullptr) {
    throw_bad_argument(note.name, "operands on a device that has this kernel",
                       to_string(device) + ", which has none; copy them with to(Device::cpu())");
  }
  const auto* const outputs = const_cast<const Array* const*>(note.outputs.data());
  kernel({.name = note.name,
          .device = device,
          .in = {note.inputs.data(), note.inputs.size()},
          .out = {outputs, note.outputs.size()},
          .cpu_body = body,
          .elementwise = note.elementwise});
}

void launch_elementwise_on_device(const LaunchNote& note) {
  const auto body = [loop = *note.elementwise](LaunchArrays in, LaunchArrays out) {
    run_elementwise(loop, in, out[0]);
  };
  LaunchBodyOf<decltype(body)> kept(body);
  launch_on_device(note, kept);
}

}  // namespace internal
}  // namespace weft
