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

constexpr int kTemporariesTried = 100;

// A new file beside `path`, whose name goes to `temporary`. What stands there already is neither
// followed nor written to: in a folder that others can write to it may lead anywhere.
int open_temporary(const std::string& path, unsigned mode, std::string& temporary) {
  static std::atomic<std::uint64_t> writes{0};  // two threads never share a temporary file
  for (int tried = 0; tried < kTemporariesTried; ++tried) {
    temporary = fmt::format("{}.tmp{}-{}", path, ::getpid(), ++writes);
    const int opened =
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (opened >= 0 || errno != EEXIST) return opened;
  }
  return -1;
}

Status write_and_sync(Descriptor& file, const std::string& path, std::span<const ByteSpan> parts,
                      const WriteFileOptions& options) {
  for (const ByteSpan part : parts) WEFT_TRY(write_all(file.number(), part, path));
  if (options.durable && ::fsync(file.number()) != 0) return system_failure(path, "sync");
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
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
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
  std::string temporary;
  Descriptor file(open_temporary(path, options.mode, temporary));
  if (file.number() < 0) return system_failure(temporary, "create");
  if (Status written = write_and_sync(file, temporary, parts, options); !written.ok()) {
    ::unlink(temporary.c_str());
    return written;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    Status failed = system_failure(path, "rename " + temporary + " to this name");
    ::unlink(temporary.c_str());
    return failed;
  }
  if (options.durable) sync_folder_of(path);
  return {};
}

Status write_file_atomically(const std::string& path, ByteSpan bytes, WriteFileOptions options) {
  return write_file_atomically(path, std::span<const ByteSpan>(&bytes, 1), options);
}

}  // namespace weft
