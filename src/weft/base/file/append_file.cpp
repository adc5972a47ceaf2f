#include "weft/base/append_file.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft {

static Status refusal(int error) { return unavailable(std::generic_category().message(error)); }

Result<std::unique_ptr<AppendFile>> AppendFile::open(const std::string& path,
                                                     AppendFileOptions options) {
  const int access = options.separator.empty() ? O_WRONLY : O_RDWR;
  const int file = ::open(
      path.c_str(), access | O_CREAT | O_APPEND | O_CLOEXEC | (options.must_be_new ? O_EXCL : 0),
      options.mode);
  if (file < 0) return refusal(errno);
  struct stat about = {};
  if (::fchmod(file, options.mode) != 0 || ::fstat(file, &about) != 0) {
    const int error = errno;
    ::close(file);
    return refusal(error);
  }
  std::unique_ptr<AppendFile> opened;
  opened.reset(new AppendFile(file, std::move(options)));  // tidy: allow new: private constructor
  opened->regular_ = S_ISREG(about.st_mode);
  opened->look_at_end();
  return opened;
}

AppendFile::~AppendFile() { ::close(file_); }

void AppendFile::look_at_end() {
  const auto size = static_cast<off_t>(options_.separator.size());
  if (!regular_ || size == 0) return;
  const off_t end = ::lseek(file_, 0, SEEK_END);
  if (end <= 0) return;
  std::string last(options_.separator.size(), '\0');
  torn_ = end < size || ::pread(file_, last.data(), last.size(), end - size) != size ||
          last != options_.separator;
}

std::size_t AppendFile::write_some(std::string_view bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = ::write(file_, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote == 0) errno = ENOSPC;
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  return done;
}

Status AppendFile::append(std::string_view record) {
  const off_t begin = regular_ ? ::lseek(file_, 0, SEEK_END) : 0;
  const std::string whole = torn_ ? options_.separator + std::string(record) : std::string();
  const std::string_view bytes = torn_ ? std::string_view(whole) : record;
  const std::size_t done = write_some(bytes);
  if (done == bytes.size()) {
    torn_ = false;
    return {};
  }
  const int error = errno;
  const bool cut = done == 0 || (regular_ && begin >= 0 && ::ftruncate(file_, begin) == 0);
  if (!cut) torn_ = true;
  return refusal(error);
}

}  // namespace weft
