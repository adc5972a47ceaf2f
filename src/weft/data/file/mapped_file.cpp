#include "weft/data/file/mapped_file.h"

#include <cerrno>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft {
namespace {

Status refused(const std::string& path) {
  return unavailable(fmt::format("{}: {}", path, std::generic_category().message(errno)));
}

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

}  // namespace

Result<SharedBytes> map_file(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0) return refused(path);
  struct stat about {};
  if (::fstat(file.value, &about) != 0) return refused(path);
  if (!S_ISREG(about.st_mode)) {
    return unavailable(fmt::format("{}: expected a regular file, got another kind", path));
  }
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size == 0) return SharedBytes();
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (start == MAP_FAILED) return refused(path);
  std::shared_ptr<const void> owner(
      start, [size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); });
  return SharedBytes(std::move(owner), ByteSpan(static_cast<const std::uint8_t*>(start), size));
}

}  // namespace weft
