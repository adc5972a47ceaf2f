#include "weft/base/file.h"

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/temporary_file.h"

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

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

Status check_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  struct stat state = {};
  if (::stat(folder.c_str(), &state) == 0 || errno != ENOENT) return {};
  return unavailable(fmt::format("{}: the folder {} is not there; make it first", path, folder));
}

// The system would not say that it is the folder.
Status cannot_create(const std::string& path) {
  const int error = errno;
  WEFT_TRY(check_folder_of(path));
  errno = error;
  return system_failure(path, "create");
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
  const std::string folder = folder_of(path);
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number() >= 0) ::fsync(opened.number());
}

constexpr int kTemporariesTried = 100;

// A new file beside `path`, whose name goes to `temporary`. What stands there already is neither
// followed nor written to: in a folder that others can write to it may lead anywhere.
int open_temporary(const std::string& path, unsigned mode,
                   std::optional<TemporaryName>& temporary) {
  for (int tried = 0; tried < kTemporariesTried; ++tried) {
    temporary.emplace(path);
    const int opened = ::open(temporary->text().c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (opened >= 0 || errno != EEXIST) return opened;
  }
  return -1;
}

// `path` is the name that failures have.
Status write_and_sync(Descriptor& file, const std::string& path, std::span<const ByteSpan> parts,
                      const WriteFileOptions& options) {
  for (const ByteSpan part : parts) WEFT_TRY(write_all(file.number(), part, path));
  if (options.durable && ::fsync(file.number()) != 0) return system_failure(path, "sync");
  if (!file.close()) return system_failure(path, "close");
  return {};
}

// The number N of /dev/fd/N and its other names; -1 for other paths.
int descriptor_named(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view begin : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(begin)) continue;
    int number = -1;
    const char* const last = path.data() + path.size();
    const auto read = std::from_chars(path.data() + begin.size(), last, number);
    if (read.ec == std::errc() && read.ptr == last) return number;
  }
  return -1;
}

Status write_in_place(const std::string& path, std::span<const ByteSpan> parts) {
  const int named = descriptor_named(path);
  Descriptor file(named >= 0 ? ::fcntl(named, F_DUPFD_CLOEXEC, 0)
                             : ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (file.number() < 0) return system_failure(path, "open");
  for (const ByteSpan part : parts) WEFT_TRY(write_all(file.number(), part, path));
  return file.close() ? Status() : system_failure(path, "close");
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
  std::optional<TemporaryName> temporary;
  Descriptor file(open_temporary(path, options.mode, temporary));
  if (file.number() < 0) return cannot_create(path);
  const char* const name = temporary->text().c_str();
  if (Status written = write_and_sync(file, path, parts, options); !written.ok()) {
    ::unlink(name);
    return written;
  }
  if (::rename(name, path.c_str()) != 0) {
    Status failed = system_failure(path, "replace");
    ::unlink(name);
    return failed;
  }
  if (options.durable) sync_folder_of(path);
  return {};
}

Status write_file_atomically(const std::string& path, ByteSpan bytes, WriteFileOptions options) {
  return write_file_atomically(path, std::span<const ByteSpan>(&bytes, 1), options);
}

Status check_output_file(const std::string& path, bool may_replace) {
  if (descriptor_named(path) >= 0) return {};
  if (is_folder(path)) return unavailable(path + ": is a folder; expected the name of a file");
  if (is_file(path) && !may_replace) {
    return invalid_argument(path + ": is there already; --force replaces it");
  }
  return check_folder_of(path);
}

Status write_output_file(const std::string& path, std::span<const ByteSpan> parts) {
  WEFT_TRY(check_output_file(path, true));
  struct stat state = {};
  const bool there = ::stat(path.c_str(), &state) == 0;
  if (descriptor_named(path) >= 0 || (there && !S_ISREG(state.st_mode))) {
    return write_in_place(path, parts);
  }
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return write_file_atomically(there && !error ? real.string() : path, parts);
}

Status write_output_file(const std::string& path, ByteSpan bytes) {
  return write_output_file(path, std::span<const ByteSpan>(&bytes, 1));
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first = {};
  struct stat second = {};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace weft
