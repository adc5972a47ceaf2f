#include "weft/app/folder/out_folder.h"

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/temporary_file.h"

namespace weft {
namespace {

constexpr int kAttemptsMax = 100;

std::string system_text(int error) { return std::generic_category().message(error); }

bool stands(const std::string& path) {
  struct stat state = {};
  return ::lstat(path.c_str(), &state) == 0;
}

// A name that a run writes to, in a folder that no peer has ever used; "": there is none.
std::string foreign_file(const std::string& folder) {
  if (stands(folder + "/.lock") || stands(folder + "/identity")) return "";
  for (const char* name : {"/summary.json", "/events.jsonl"}) {
    if (stands(folder + name)) return folder + name;
  }
  return "";
}

// Whatever a killed process of ours was writing in the folder. Other programs may have files there.
void remove_what_was_left(const std::string& folder) {
  remove_stale_temporaries(folder, [](std::string_view file) {
    return file == "identity" || file == "membership.record" || file == "summary.json" ||
           file == "recipe.toml";
  });
  remove_stale_temporaries(folder + "/checkpoints", [](std::string_view file) {
    return file.starts_with("checkpoint-") || file.starts_with("best.safetensors");
  });
}

}  // namespace

Result<OutFolder> OutFolder::open(const std::string& path) {
  bool in_use = false;
  return open(path, in_use);
}

Result<OutFolder> OutFolder::open(const std::string& path, bool& in_use) {
  in_use = false;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return unavailable(
        fmt::format("{}: cannot be made ({}); choose another --out", path, error.message()));
  }
  if (const std::string file = foreign_file(path); !file.empty()) {
    return unavailable(fmt::format(
        "{}: is in a folder that no run has made, and a run would write to it; choose another "
        "--out",
        file));
  }
  const std::string lock_path = path + "/.lock";
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (lock < 0) {
    return unavailable(fmt::format("{}: {}; choose another --out", lock_path, system_text(errno)));
  }
  // Whoever may open it could hold the lock; older releases let everybody. One of another owner
  // stays as it is.
  static_cast<void>(::fchmod(lock, 0600));
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    in_use = true;
    return unavailable(fmt::format("{}: another peer is using it; choose another --out", path));
  }
  remove_what_was_left(path);
  return OutFolder(path, lock);
}

Result<OutFolder> OutFolder::open_free(const std::string& path) {
  bool in_use = false;
  for (int number = 1; number < kAttemptsMax; ++number) {
    Result<OutFolder> folder =
        open(number == 1 ? path : fmt::format("{}-{}", path, number), in_use);
    // What hinders the first name hinders every other, but for a peer at work there.
    if (folder.ok() || !in_use) return folder;
  }
  return open(fmt::format("{}-{}", path, kAttemptsMax), in_use);
}

OutFolder::OutFolder(OutFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

OutFolder::~OutFolder() {
  if (lock_ >= 0) ::close(lock_);
}

Result<std::string> OutFolder::set_checkpoints_aside() const {
  std::error_code error;
  const std::string folder = checkpoints_path();
  if (!std::filesystem::exists(folder, error) || std::filesystem::is_empty(folder, error)) {
    return std::string();
  }
  for (int number = 1; number <= kAttemptsMax; ++number) {
    const std::string aside = fmt::format("{}-{}", folder, number);
    if (std::filesystem::exists(aside, error)) continue;
    std::filesystem::rename(folder, aside, error);
    if (error) return unavailable(fmt::format("{}: {}", aside, error.message()));
    return aside;
  }
  return unavailable(fmt::format("{}: remove some of the old checkpoint folders", path_));
}

}  // namespace weft
