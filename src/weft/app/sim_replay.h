// A run that really took place, as a simulation repeats it: its machines' speeds, and when members
// joined and were lost, from the events that they wrote.
//
//   speed   the median, over a member's rounds, of the samples that it computed over the time for
//           which it computed
//   join    a member whose first round is later than another's first, when its log begins; the
//           others are there from the beginning
//   crash   a member whose log has no summary, at its last event
//
// Lines, latencies and what a member's machine did beside the run are not replayed.
// Where it stands: sim_command -> here. Threads: functions of their arguments.
// Fails: kInvalidArgument for a folder without a log of rounds, kCorrupt with the line that is
// none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"

namespace weft {

// One member's log.
struct ReplayedMember {
  std::string out;
  double started = 0;            // Unix time
  std::int64_t first_round = 0;  // its number; a late member has others before it
  double last_event = 0;
  bool ended = false;
  double samples_per_second = 0;  // 0: no round says it
};

// Members in the order of their numbers in the simulation, and times since the first one started.
struct Replay {
  std::size_t peers = 0;  // there from the beginning
  std::vector<double> samples_per_second;
  std::vector<double> joins;  // of the others, in order
  struct Crash {
    std::size_t peer = 0;
    double seconds = 0;
  };
  std::vector<Crash> crashes;
};

// `text`: the lines of OUT/events.jsonl, of which the newest start of the run counts. An incomplete
// last line is left out.
Result<ReplayedMember> parse_replayed(const std::string& out, std::string_view text);
Replay replay_of(std::vector<ReplayedMember> members);
Result<Replay> read_replay(const std::vector<std::string>& outs);

}  // namespace weft
