#include "weft/base/temporary_file.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

namespace weft {
namespace {

constexpr int kPlaces = 16;
constexpr std::string_view kMark = ".tmp";

enum class PlaceState : std::uint8_t { kFree, kTaken, kReadable };

struct TablePlace {
  std::atomic<PlaceState> state;
  std::array<char, PATH_MAX> name;
};

// A handler can reach nothing else. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
std::array<TablePlace, kPlaces> table;
static_assert(std::atomic<PlaceState>::is_always_lock_free);

int take_place(const std::string& name) {
  if (name.size() >= PATH_MAX) return -1;
  for (int number = 0; number < kPlaces; ++number) {
    TablePlace& place = table[static_cast<std::size_t>(number)];
    PlaceState expected = PlaceState::kFree;
    if (!place.state.compare_exchange_strong(expected, PlaceState::kTaken)) continue;
    std::memcpy(place.name.data(), name.c_str(), name.size() + 1);
    place.state = PlaceState::kReadable;
    return number;
  }
  return -1;
}

struct TemporaryParts {
  std::string_view file;
  pid_t process = 0;
};

// All of `text` as a number above 0; 0 for any other text.
template <class Number>
Number number_in(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end && number > 0 ? number : 0;
}

// The parts of a name FILE.tmpPID-N; the process is 0 for any other name.
TemporaryParts parts_of(std::string_view name) {
  const std::size_t mark = name.rfind(kMark);
  if (mark == std::string_view::npos || mark == 0) return {};
  const std::string_view numbers = name.substr(mark + kMark.size());
  const std::size_t dash = numbers.find('-');
  if (dash == std::string_view::npos || number_in<std::uint64_t>(numbers.substr(dash + 1)) == 0) {
    return {};
  }
  return {name.substr(0, mark), number_in<pid_t>(numbers.substr(0, dash))};
}

bool is_written_here(const std::string& name) {
  for (const TablePlace& place : table) {
    if (place.state != PlaceState::kReadable) continue;
    const std::string_view path = place.name.data();
    if (path.ends_with(name)) return true;
  }
  return false;
}

// In a container this process may have the number of the one that was killed.
bool has_ended(pid_t process, const std::string& name) {
  if (process == ::getpid()) return !is_written_here(name);
  return ::kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace

TemporaryName::TemporaryName(const std::string& path) {
  static std::atomic<std::uint64_t> names{0};  // two threads never share a temporary file
  text_ = fmt::format("{}{}{}-{}", path, kMark, ::getpid(), ++names);
  place_ = take_place(text_);
}

TemporaryName::~TemporaryName() {
  if (place_ >= 0) table[static_cast<std::size_t>(place_)].state = PlaceState::kFree;
}

void remove_temporaries_at_once() {
  for (const TablePlace& place : table) {
    if (place.state == PlaceState::kReadable) ::unlink(place.name.data());
  }
}

void remove_stale_temporaries(const std::string& folder,
                              const std::function<bool(std::string_view file)>& is_ours) {
  std::error_code failed;
  std::filesystem::directory_iterator at(folder, failed);
  for (const std::filesystem::directory_iterator end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    const TemporaryParts parts = parts_of(name);
    if (parts.process <= 0 || !is_ours(parts.file)) continue;
    std::error_code passed_over;
    if (at->symlink_status(passed_over).type() != std::filesystem::file_type::regular) continue;
    if (has_ended(parts.process, name)) std::filesystem::remove(at->path(), passed_over);
  }
}

}  // namespace weft
