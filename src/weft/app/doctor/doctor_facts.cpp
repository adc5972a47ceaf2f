#include "weft/app/doctor/doctor_facts.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include "weft/base/isa/isa.h"

namespace weft {

namespace {

std::string text_of(const char* path) {
  // Files of /proc have no size, so they are read to their end.
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// "12345\n"; nothing for "max" or what is not there.
std::optional<std::uint64_t> number_in(const char* path) {
  const std::string text = text_of(path);
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

ProcessorFacts processor_facts() {
  ProcessorFacts facts;
  facts.cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  for (const InstructionSet& set : instruction_sets()) {
    if (set.isa == isa_in_use()) {
      facts.in_use = set.name;
    } else if (set.chosen) {
      (runs_here(set) ? facts.also_here : facts.not_here).emplace_back(set.name);
    }
  }
  facts.asked = asked_isa();
  return facts;
}

std::uint64_t meminfo_bytes(const std::string& text, const std::string& name) {
  const std::string begin = name + ":";
  std::size_t at = text.rfind(begin, 0) == 0 ? 0 : text.find("\n" + begin);
  if (at == std::string::npos) return 0;
  at = text.find_first_of("0123456789", at + begin.size());
  if (at == std::string::npos) return 0;
  std::uint64_t kilobytes = 0;
  const auto parsed = std::from_chars(text.data() + at, text.data() + text.size(), kilobytes);
  return parsed.ec == std::errc() ? kilobytes * 1024 : 0;
}

MemoryFacts memory_facts() {
  const std::string text = text_of("/proc/meminfo");
  MemoryFacts facts;
  facts.total_bytes = meminfo_bytes(text, "MemTotal");
  facts.free_bytes = meminfo_bytes(text, "MemAvailable");
  // Inside a container its limit counts, not the machine's memory.
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (limit && used) {
    facts.total_bytes = std::min(facts.total_bytes, *limit);
    facts.free_bytes = std::min(facts.free_bytes, *limit - std::min(*used, *limit));
  }
  return facts;
}

DiskFacts disk_facts(const std::string& folder) {
  DiskFacts facts;
  facts.folder = folder;
  std::error_code error;
  std::filesystem::path there = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(there, error) && there.has_relative_path()) {
    there = there.parent_path();
  }
  if (!std::filesystem::is_directory(there, error)) {
    facts.fault = there.string() + " is no folder";
    return facts;
  }
  struct statvfs info {};
  if (::statvfs(there.c_str(), &info) == 0) {
    facts.free_bytes = static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
  }
  if (::access(there.c_str(), W_OK | X_OK) != 0) {
    facts.fault = std::generic_category().message(errno);
  }
  return facts;
}

ClockFacts clock_facts() {
  ClockFacts facts;
  facts.unix_time_s = SystemClock().unix_time_s();
  timex request{};
  const int state = ::adjtimex(&request);
  facts.synchronised = state >= 0 && state != TIME_ERROR && (request.status & STA_UNSYNC) == 0;
  return facts;
}

std::uint64_t open_files_max() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace weft
