// swarm_events: the group's reports as events of the log.
//
// Where it stands: GroupAdministration::take_events() -> run loop -> here -> EventLog. Threads:
// pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/collective/parts/swarm_types.h"
#include "weft/train/event/event.h"

namespace weft {

// Facts about the newest view, which give related events their round and reason.
struct GroupNews {
  PeerId self;
  Round next_round;  // the first that the view's members share
  std::int64_t members = 0;
  std::string reason;  // "peer b81f left, peer 77aa joined"

  void hear(const SwarmEvent& event);

 private:
  std::string changes_;
};

// Nothing for what only the swarm itself cares about.
std::optional<Event> event_of(const SwarmEvent& event, const GroupNews& news);

// The event "peers": one line per member. `compute_seconds` by rank, of the last round; may be
// shorter than the list of members.
Event peers_event(const SwarmStatus& status, const std::vector<double>& compute_seconds);

// What the rounds since the last event "timings" were like at this peer.
struct RoundTimings {
  Round newest;
  std::int64_t rounds = 0;
  double round_seconds = 0;
  double round_bytes = 0;  // sent by this peer in a round
  // By rank, the median of what the members report; -1: nothing.
  std::vector<double> compute_seconds;
};
// The event "timings", by the ranks of `status`.
Event timings_event(const SwarmStatus& status, const RoundTimings& rounds);

// "12.3 MB": for people.
std::string bytes_text(double bytes);

}  // namespace weft
