// Judgement: offences of peers, accusations among members, and expulsions that follow from them.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/peer/conduct.h"
#include "weft/peer/membership.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/parts/membership_parts.h"
#include "weft/wire/admission_message.h"
#include "weft/wire/membership_message.h"

namespace weft {

class Judgement : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  const Conduct& conduct() const { return state_.conduct; }
  const Accusations& accusations() const { return state_.accusations; }
  // With the next heartbeat this member repeats its accusations, if there are any.
  void hurry_repetition();

  // Whether messages about others are ignored because their sender is about to be expelled.
  bool ignores(const PeerId& from, std::uint8_t type) const;
  void blame(const PeerId& peer, Offence offence, const std::string& evidence);
  void repeat_accusations();
  Result<std::string> expel(const PeerId& peer, const std::string& reason);
  void on_accusation(const PeerId& from, const AccusationMessage& message);
  // After a view was installed.
  void take_verdicts(const ViewNoticeMessage& next, const ViewChange& change);

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  void report(const PeerId& peer, const PeerId& by, Offence offence, const std::string& evidence,
              bool accusation);
  void consider(const PeerId& peer);
  void accuse(const PeerId& peer, Offence offence, const std::string& evidence);
  void judge(const PeerId& peer);
  void accuse_banned();

  struct State {
    Conduct conduct;
    Accusations accusations;
    // When to repeat this member's accusations, and the interval until the repetition after that.
    TimePoint repeat_at = kNever;
    Duration repeat_gap{};

    WEFT_FIELDS((accusations, repeat_at), (conduct, repeat_gap))
  };

  State state_;
};

}  // namespace weft
