#include "weft/app/doctor/run_log.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>

namespace weft {
namespace {

// Holds ten thousand rounds.
constexpr std::streamoff kLogTailBytes = 8 << 20;
constexpr std::size_t kTimingsKept = 16;
constexpr std::size_t kLostKept = 8;
// As many as `weft run --peers` starts.
constexpr int kLocalPeersMax = 64;

template <class Events>
void keep_newest(Events& events, Event event, std::size_t most) {
  events.push_back(std::move(event));
  if (events.size() > most) events.pop_front();
}

void take(RunLog& log, Event event) {
  if (event.kind == "timings") {
    keep_newest(log.timings, std::move(event), kTimingsKept);
  } else if (event.kind == "waiting" || event.kind == "overdue") {
    log.wait = std::move(event);
  } else if (event.kind == "peer_left") {
    if (event.text("reason") != "said goodbye") keep_newest(log.lost, std::move(event), kLostKept);
  } else if (event.kind == "round") {
    log.newest_round = event.integer("round");
    log.wait.reset();
  } else if (event.kind == "started") {
    std::string path = std::move(log.path);
    log = RunLog();
    log.path = std::move(path);
  } else if (event.kind == "summary") {
    log.ended = true;
    log.wait.reset();
  } else if (event.kind == "waiting_over" || event.kind == "view_changed") {
    log.wait.reset();
  }
}

}  // namespace

Result<RunLog> parse_run_log(const std::string& path, std::string_view text, bool is_tail) {
  RunLog log;
  log.path = path;
  std::size_t begin = 0;
  for (std::size_t line = 1;; ++line) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;
    const std::string_view each = text.substr(begin, end - begin);
    begin = end + 1;
    if (is_tail && line == 1) continue;
    Result<Event> event = parse_event(each);
    if (!event.ok()) {
      return corrupt(fmt::format("{}: line {}{}: {}; mend or remove it", path, line,
                                 is_tail ? " of its end" : "", event.status().message()));
    }
    take(log, *std::move(event));
  }
  return log;
}

Result<RunLog> read_run_log(const std::string& folder) {
  const std::string path = folder + "/events.jsonl";
  std::error_code error;
  std::ifstream file;
  // A pipe would never end.
  if (std::filesystem::is_regular_file(path, error)) {
    file.open(path, std::ios::binary | std::ios::ate);
  }
  const std::streamoff size = file.is_open() ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) {
    return invalid_argument(
        fmt::format("{}: cannot be read; expected the folder OUT of a run, with its log", path));
  }
  const std::streamoff begin = std::max(std::streamoff{0}, size - kLogTailBytes);
  file.seekg(begin);
  std::string text(static_cast<std::size_t>(size - begin), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  // The log may have been moved away meanwhile.
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_run_log(path, text, begin > 0);
}

std::vector<std::string> peer_folders(const std::string& folder) {
  std::vector<std::string> found = {folder};
  for (int peer = 2; peer <= kLocalPeersMax; ++peer) {
    std::string each = fmt::format("{}/peer-{}", folder, peer);
    std::error_code error;
    if (std::filesystem::exists(each + "/events.jsonl", error)) found.push_back(std::move(each));
  }
  return found;
}

}  // namespace weft
