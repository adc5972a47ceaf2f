// KeyHolders: the run's key: whether this peer has it, and which others have shown that they do.
//
// Members get the key with the view that admits them, and prove with it, over each link, that they
// are or were members. Tickets and their successors are checked against it.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <optional>
#include <set>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/peer/admission.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/revocations.h"
#include "weft/wire/join_message.h"
#include "weft/wire/membership_message.h"

namespace weft {

class KeyHolders : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  const std::set<PeerId>& key_shown() const { return state_.key_shown; }
  // The link of `peer` has ended; what was shown over it does not count any more.
  void on_link_down(const PeerId& peer);
  // The key was renewed: no peer has shown the new one yet.
  void forget_shown();

  bool has_key() const;
  RunKey run_key() const;
  void learn_key(const RunKey& key);
  ViewNoticeMessage notice_for(const PeerId& to) const;
  void show_key(const PeerId& to);
  void on_member_proof(const PeerId& from, const MemberProofMessage& message);
  bool lacks_key(const PeerId& asker);
  RunFacts facts() const;
  std::optional<SuccessorRun> successor_for(const PeerId& from, const JoinProof& proof);

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  struct State {
    // The peers that have shown the run's key over their present link, and those to which this one
    // has.
    std::set<PeerId> key_shown;
    std::set<PeerId> key_shown_to;

    WEFT_FIELDS((key_shown, key_shown_to), ())
  };

  State state_;
};

}  // namespace weft
