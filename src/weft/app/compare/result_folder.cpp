#include "weft/app/compare/result_folder.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "weft/base/bytes.h"
#include "weft/base/file.h"
#include "weft/base/temporary_file.h"

namespace weft {
namespace {

constexpr const char* kMark = "/.weft-compare";
constexpr std::size_t kSlugMax = 40;
constexpr std::size_t kKeyDigits = 16;

Status cannot_be_made(const std::string& path, const std::string& reason) {
  return unavailable(fmt::format("{}: cannot be made ({}); choose another --out", path, reason));
}

Status make_result_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return cannot_be_made(path, error.message());
  return {};
}

// Refuses a folder with files in it that no comparison has made.
Status check_owner(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::symlink_status(path + kMark, error))) return {};
  const std::filesystem::directory_iterator entries(path, error);
  if (error) {
    return unavailable(
        fmt::format("{}: cannot be read ({}); choose another --out", path, error.message()));
  }
  if (entries == std::filesystem::directory_iterator()) return {};
  return unavailable(
      fmt::format("{}: has files, such as {}, and no comparison has made it; choose another --out",
                  path, entries->path().filename().string()));
}

// What file names may hold everywhere: lower-case letters, digits, '-'.
std::string slug_of(const std::string& name) {
  std::string out;
  for (const char character : name) {
    if (out.size() == kSlugMax) break;
    const bool is_upper = character >= 'A' && character <= 'Z';
    const bool is_plain =
        (character >= 'a' && character <= 'z') || (character >= '0' && character <= '9');
    if (is_upper || is_plain) {
      out += is_upper ? static_cast<char>(character - 'A' + 'a') : character;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "run" : out;
}

}  // namespace

Result<ResultFolder> ResultFolder::open(const std::string& path) {
  WEFT_TRY(make_result_folder(path));
  WEFT_TRY(check_owner(path));
  const std::string mark = path + kMark;
  const int lock = ::open(mark.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (lock < 0) {
    return unavailable(
        fmt::format("{}: {}; choose another --out", mark, std::generic_category().message(errno)));
  }
  ResultFolder folder(path, lock);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    return unavailable(
        fmt::format("{}: another comparison is using it; choose another --out", path));
  }
  for (const char* inner : {"/runs", "/plots"}) {
    WEFT_TRY(make_result_folder(path + inner));
    remove_stale_temporaries(path + inner, [](std::string_view) { return true; });
  }
  remove_stale_temporaries(path,
                           [](std::string_view file) { return file.starts_with("compare."); });
  return folder;
}

ResultFolder::ResultFolder(ResultFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

ResultFolder::~ResultFolder() {
  if (lock_ >= 0) ::close(lock_);
}

std::string ResultFolder::stem_of(const ComparedRun& run) {
  return fmt::format("{}-seed{}-{}", slug_of(run.contender), run.seed,
                     run.key.substr(0, kKeyDigits));
}

std::string ResultFolder::run_path(const ComparedRun& run) const {
  return fmt::format("{}/runs/{}.json", path_, stem_of(run));
}

Result<std::string> ResultFolder::fresh_program_folder(const ComparedRun& run) const {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::absolute(path_, error) / "programs" / stem_of(run);
  if (!error) std::filesystem::remove_all(folder, error);  // follows no links
  if (error) return cannot_be_made(folder.string(), error.message());
  WEFT_TRY(make_result_folder(folder.string()));
  return folder.string();
}

std::optional<ComparedRun> ResultFolder::load(const ComparedRun& wanted,
                                              std::string* complaint) const {
  const std::string path = run_path(wanted);
  if (!is_file(path)) return std::nullopt;
  const auto complain = [&](const std::string& reason) {
    if (complaint != nullptr) *complaint = fmt::format("{}: {}; it is run again", path, reason);
    return std::nullopt;
  };
  const Result<Bytes> bytes = read_file(path, kRunFileBytesMax);
  if (!bytes.ok()) return complain(bytes.status().message());
  Result<ComparedRun> read = parse_compared_run(
      {reinterpret_cast<const char*>(bytes.value().data()), bytes.value().size()});
  if (!read.ok()) return complain(read.status().message());
  if (read.value().key != wanted.key) return complain("is the result of another run");
  ComparedRun out = std::move(read).value();
  out.contender = wanted.contender;
  out.seed = wanted.seed;
  return out;
}

Status ResultFolder::save(const ComparedRun& result) const {
  const std::string text = compared_run_json(result);
  return write_file_atomically(run_path(result), as_bytes(text));
}

Status ResultFolder::write(const std::string& name, std::string_view text) const {
  return write_file_atomically(path_ + "/" + name, as_bytes(text));
}

}  // namespace weft
