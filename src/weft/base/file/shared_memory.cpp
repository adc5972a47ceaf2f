#include "weft/base/shared_memory.h"

#include <map>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "weft/base/thread.h"

namespace weft {

namespace {

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

// By where they begin.
using Known = std::map<const std::uint8_t*, std::weak_ptr<const SharedMemory>>;

Guarded<Known>& known() {
  static Guarded<Known> all;
  return all;
}

}  // namespace

std::shared_ptr<SharedMemory> SharedMemory::make(std::size_t bytes) {
  const int descriptor = ::memfd_create("weft-shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return nullptr;
  void* mapped = MAP_FAILED;
  if (bytes > 0 && ::ftruncate(descriptor, static_cast<off_t>(bytes)) == 0 &&
      ::fcntl(descriptor, F_ADD_SEALS, kSizeSeals) == 0) {
    mapped =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  }
  // Only now, so that this mapping is the one that may write.
  if (mapped == MAP_FAILED ||
      ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
    if (mapped != MAP_FAILED) ::munmap(mapped, bytes);
    ::close(descriptor);
    return nullptr;
  }
  auto* const first = static_cast<std::uint8_t*>(mapped);
  std::shared_ptr<SharedMemory> made(new SharedMemory(descriptor, {first, bytes}));
  known().with([&](Known& all) { all[made->bytes().data()] = made; });
  return made;
}

SharedMemory::~SharedMemory() {
  known().with([&](Known& all) { all.erase(bytes_.data()); });
  ::munmap(bytes_.data(), bytes_.size());
  ::close(descriptor_);
}

std::shared_ptr<const SharedMemory> SharedMemory::find(ByteSpan bytes) {
  // Not let go under the lock: its end takes the lock as well.
  const auto found = known().with([&](const Known& all) -> std::shared_ptr<const SharedMemory> {
    const auto after = all.upper_bound(bytes.data());
    return after == all.begin() ? nullptr : std::prev(after)->second.lock();
  });
  if (found == nullptr) return nullptr;
  const auto offset = static_cast<std::size_t>(bytes.data() - found->bytes().data());
  const std::size_t size = found->bytes().size();
  return offset <= size && bytes.size() <= size - offset ? found : nullptr;
}

}  // namespace weft
