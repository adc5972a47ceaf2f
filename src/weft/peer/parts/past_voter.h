// PastVoter: the voter of an earlier view that a restarted process still is, until a view admits it
// again.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <optional>

#include "weft/base/fields.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/parts/membership_parts.h"
#include "weft/peer/voter_record.h"
#include "weft/wire/membership_message.h"

namespace weft {

class PastVoter : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  const std::optional<PastLife>& life() const { return state_.past; }
  // Goes on as the voter of the record.
  void begin(const VoteOnRecord& vote);
  void end() { state_.past.reset(); }

  void become_past();
  void say_outside(const PeerId& to);
  bool is_past_matter(const PeerId& from, const ViewId& asked) const;
  void vote_as_past(const PeerId& from, const PrepareMessage& message);
  void vote_as_past(const PeerId& from, const AcceptMessage& message);
  void follow_as_past(const PeerId& from, const ViewNoticeMessage& message);
  void past_beat();

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  bool refuses_as_past(const ViewValue& value);

  struct State {
    std::optional<PastLife> past;

    WEFT_FIELDS((past), ())
  };

  State state_;
};

}  // namespace weft
