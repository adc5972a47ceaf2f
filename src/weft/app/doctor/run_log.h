// RunLog: what a run's events say of its members' times, waits and losses, for a diagnosis.
//
// Only the end of a log is read, and only what concerns the newest start of the run. The last line
// may be incomplete: the peer may be writing it.
//
// Where it stands: OUT/events.jsonl -> here -> run_diagnosis. Threads: functions of their
// arguments. Fails: kInvalidArgument where there is no log, kCorrupt with the line that is none.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/train/event/event.h"

namespace weft {

struct RunLog {
  std::string path;
  // The newest "timings", the oldest first.
  std::deque<Event> timings;
  // The newest "waiting" or "overdue" if its round has not ended.
  std::optional<Event> wait;
  // The newest "peer_left" of members that did not leave by themselves.
  std::deque<Event> lost;
  std::int64_t newest_round = 0;
  // This peer has come to the end of the run, or has left it.
  bool ended = false;
};

// `text`: the lines of the log; without its beginning if `is_tail`.
Result<RunLog> parse_run_log(const std::string& path, std::string_view text, bool is_tail);
// `folder`: OUT of a peer.
Result<RunLog> read_run_log(const std::string& folder);
// `folder`, and the folders of the local peers that `weft run --peers` has started for it.
std::vector<std::string> peer_folders(const std::string& folder);

}  // namespace weft
