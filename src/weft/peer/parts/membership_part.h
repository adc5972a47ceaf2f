// MembershipPart: what the parts of a membership have in common.
//
// Each part owns its state, which no other part reaches but by the methods of its class, and knows
// the membership that it belongs to, so that it can call the others. A copy of a membership has
// parts of its own, which are assigned what the parts of the first one hold.
//
// Threads: as Membership. Fails: never.
#pragma once

#include "weft/peer/membership.h"

namespace weft {

class Fingerprint;

class MembershipPart {
 public:
  explicit MembershipPart(Membership::Core& core) : core_(core) {}
  MembershipPart(const MembershipPart&) = delete;
  // Takes over the other one's state and stays with its own membership.
  MembershipPart& operator=(const MembershipPart& /*other*/) { return *this; }

 protected:
  ~MembershipPart() = default;

  Membership::Core& core_;
};

}  // namespace weft
