// RunEnding: the end of the run, at a member: which newcomers it still serves, and which ones it
// informs that the run is over.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <optional>
#include <vector>

#include "weft/base/fields.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/parts/membership_parts.h"
#include "weft/wire/admission_message.h"

namespace weft {

class RunEnding : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  const std::optional<EndedRun>& ended() const { return state_.ended; }

  void run_over(Round round, TimePoint serves_until);
  void stop_serving();
  void send_over(const PeerId& peer);
  void expect(const PeerId& peer, const InvitationId& invitation);
  void meet_expected(const PeerId& peer, const InvitationId* invitation);
  bool awaits_newcomers() const;
  // Answers a joiner's request where the run is over; true if that was the whole answer.
  bool answer_over(const PeerId& from);

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  struct State {
    std::optional<EndedRun> ended;
    // The latest first.
    std::vector<ExpectedJoiner> expected;

    WEFT_FIELDS((ended, expected), ())
  };

  State state_;
};

}  // namespace weft
