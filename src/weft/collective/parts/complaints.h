// Complaints: suspicions and offences of members, and faults of links, kept until they can be
// passed to the membership, which must not be called from inside its own calls.
//
// Threads: as SwarmCore. Fails: never.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/collective/round/round_core.h"
#include "weft/wire/ids.h"

namespace weft {

class Complaints : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  // The member owes the round something.
  void suspect(const PeerId& peer, std::string reason);
  // As suspect(), for a member that reports that it still computes.
  void overdue(const PeerId& peer, std::string reason);
  // Its link is to end.
  void close(const PeerId& peer, Status why);
  void on_view() { state_.mismatched.clear(); }

  void settle_stalls();
  // States that differ.
  void settle_comparison();
  // Tells the membership and the transport.
  void settle();

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  void report_stall(const Stall& stall);

  struct Complaint {
    PeerId peer;
    std::string reason;

    WEFT_FIELDS((peer), (reason))
  };
  struct Closing {
    PeerId peer;
    Status why;

    WEFT_FIELDS((peer, why), ())
  };
  struct State {
    std::vector<Complaint> suspects;
    std::vector<Complaint> overdue;
    std::vector<Closing> closing;
    // Members of this view whose state differs.
    std::set<PeerId> mismatched;

    WEFT_FIELDS((suspects, overdue, closing, mismatched), ())
  };

  State state_;
};

}  // namespace weft
