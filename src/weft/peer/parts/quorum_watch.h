// QuorumWatch: whether enough members can be reached, and the text for people if not.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <optional>
#include <string>

#include "weft/base/fields.h"
#include "weft/peer/membership.h"
#include "weft/peer/parts/membership_part.h"

namespace weft {

class QuorumWatch : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  // Since when this member has had no quorum, once it is isolated.
  const std::optional<TimePoint>& isolated_since() const { return state_.isolated_since; }
  // Whether too few are in reach, isolated or not yet.
  bool lacks() const { return state_.unreachable_since.has_value(); }
  void on_view();
  void end_isolation() { state_.isolated_since.reset(); }

  void check_quorum();

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  void isolate();
  std::string isolation_text(const IsolatedReport& report) const;

  struct State {
    std::optional<TimePoint> unreachable_since;
    std::optional<TimePoint> isolated_since;

    WEFT_FIELDS((unreachable_since, isolated_since), ())
  };

  State state_;
};

}  // namespace weft
