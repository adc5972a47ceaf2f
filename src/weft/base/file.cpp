#include "weft/base/file.h"

#include <atomic>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  // False when the system reports a late write error.
  bool close() {
    const int result = ::close(number_);
    number_ = -1;
    return result == 0;
  }

 private:
  int number_;
};

Status system_failure(const std::string& path, std::string_view action) {
  const std::string reason = std::generic_category().message(errno);
  return unavailable(fmt::format("{}: cannot {}: {}", path, action, reason));
}

Status write_all(int descriptor, ByteSpan bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_failure(path, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

// Makes the rename itself survive a crash; a file system that cannot sync a folder is left alone.
void sync_folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number() >= 0) ::fsync(opened.number());
}

Status write_and_sync(const std::string& path, std::span<const ByteSpan> parts, unsigned mode) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (file.number() < 0) return system_failure(path, "create");
  for (const ByteSpan part : parts) WEFT_TRY(write_all(file.number(), part, path));
  if (::fsync(file.number()) != 0) return system_failure(path, "sync");
  if (!file.close()) return system_failure(path, "close");
  return {};
}

}  // namespace

bool is_file(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_folder(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<Bytes> read_file(const std::string& path, std::size_t bytes_max) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return system_failure(path, "open");
  struct stat state {};
  if (::fstat(file.number(), &state) != 0) return system_failure(path, "examine");
  if (!S_ISREG(state.st_mode)) return unavailable(path + ": expected a regular file");
  const auto size = static_cast<std::size_t>(state.st_size);
  if (size > bytes_max) {
    return corrupt(fmt::format("{}: expected at most {} bytes, got {}", path, bytes_max, size));
  }
  Bytes bytes(size);
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t got = ::read(file.number(), bytes.data() + filled, size - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure(path, "read");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

Status write_file_atomically(const std::string& path, std::span<const ByteSpan> parts,
                             WriteFileOptions options) {
  static std::atomic<std::uint64_t> writes{0};  // two threads never share a temporary file
  const std::string temporary = fmt::format("{}.tmp{}-{}", path, ::getpid(), ++writes);
  if (Status written = write_and_sync(temporary, parts, options.mode); !written.ok()) {
    ::unlink(temporary.c_str());
    return written;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    Status failed = system_failure(path, "rename " + temporary + " to this name");
    ::unlink(temporary.c_str());
    return failed;
  }
  sync_folder_of(path);
  return {};
}

Status write_file_atomically(const std::string& path, ByteSpan bytes, WriteFileOptions options) {
  return write_file_atomically(path, std::span<const ByteSpan>(&bytes, 1), options);
}

}  // namespace weft
