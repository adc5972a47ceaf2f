// RoundWaits: the waits of an open round for members that compute: reported at once and by name,
// but not in every round if waits are usual; and ended after a limit.
//
// A wait is reported when no data has been sent for RoundCoreOptions::wait_interval, again each
// time it has doubled, and when it is over. If every round waits, as for a slow member, only one
// that is longer than the others by half is reported.
//
// Threads: as SwarmCore. Fails: never.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/fields.h"
#include "weft/base/time.h"
#include "weft/collective/diagnosis/recent_times.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/collective/round/round_core.h"
#include "weft/collective/round/round_times.h"

namespace weft {

// How the reason begins for which a member is removed that computes too long.
inline constexpr std::string_view kOverdueReason = "computing for";

// "peer A", "peers A, B", for people.
std::string names_of_peers(const std::vector<PeerId>& peers);

class RoundWaits : public SwarmCorePart {
 public:
  RoundWaits(SwarmParts& core, RoundTimes times) : SwarmCorePart(core), state_{std::move(times)} {}

  void settle();
  // A round was committed: how long it took.
  void measure_round(const RoundOutcome& outcome);
  // How long a round with this many elements may take.
  Duration limit(std::int64_t elements) const { return state_.times.limit(elements); }
  // Why an open round does not end, for people: the members whose part is missing.
  std::string owed_text() const;
  void add_to(SwarmStatus& status) const;

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  void report_wait(const RoundWait& wait);
  void end_wait();
  Duration limit_of(const RoundWait& wait) const;

  struct State {
    RoundTimes times;
    // The present wait as last observed, and the members and its length when it was reported.
    std::optional<RoundWait> present{};
    std::vector<PeerId> reported{};
    Duration reported_at{};
    bool warned = false;
    bool suspected = false;
    // The longest wait of this round, and what waits are like here, which fades by half with each
    // round.
    Duration longest{};
    Duration usual{};
    // Members that were suspected for computing too long: they get no second limit in a later
    // round.
    std::set<PeerId> overdue{};
    // How long after this member's beginning of a round the reports of the others came, in that
    // view.
    RecentTimes entries{};
    ViewId entries_view{};

    WEFT_FIELDS((present, reported, warned, suspected, overdue),
                (times, reported_at, longest, usual, entries, entries_view))
  };

  State state_;
};

}  // namespace weft
