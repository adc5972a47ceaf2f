// OwnSlowness: the others wait for this member's input: the warning for people here, and how its
// share shrinks after it was removed for that.
//
// Threads: as SwarmCore. Fails: never.
#pragma once

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/wire/ids.h"

namespace weft {

class OwnSlowness : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  void settle();
  // A member that was removed because the others waited for its part joins again with a smaller
  // share.
  void on_removed(const Status& why);
  void add_to(SwarmStatus& status) const;

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  struct State {
    // In which round the others wait, since when, and what was reported.
    Round round{};
    TimePoint since{};
    bool warned = false;
    TimePoint reported_at = TimePoint::min();
    // How often this member was removed while the others waited for its part.
    int halvings = 0;

    WEFT_FIELDS((round, warned, halvings), (since, reported_at))
  };

  State state_;
};

}  // namespace weft
