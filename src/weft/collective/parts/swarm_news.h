// SwarmNews: what people are shown of a swarm: its events, and what went wrong, in numbers.
//
// Threads: as SwarmCore. Fails: never; a full box of events loses the oldest (event_box.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/fields.h"
#include "weft/base/time.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/collective/round/round_core.h"

namespace weft {

class SwarmNews : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  // Reports an event, and returns it for the caller to fill in before it reports another one.
  SwarmEvent& report(SwarmEventKind kind, std::string text);
  std::vector<SwarmEvent> take();

  void on_freeze();
  // A view was installed.
  void on_view();
  // This peer is out of its view: the time that it waited for another view does not count as lost.
  void on_removed() { state_.frozen_at = TimePoint::max(); }
  // A round that was begun ended with kAborted.
  void on_aborted(const RoundOutcome& outcome);
  void add_to(SwarmStatus& status) const;

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  struct State {
    std::vector<SwarmEvent> events;
    TimePoint frozen_at = TimePoint::max();
    std::uint64_t view_changes = 0;
    std::uint64_t rounds_rerun = 0;
    double seconds_lost = 0;

    WEFT_FIELDS((frozen_at, view_changes, rounds_rerun), (events, seconds_lost))
  };

  State state_;
};

}  // namespace weft
