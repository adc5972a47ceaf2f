// ViewEvidence: which reports are believed that the run has gone on in a later view.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <map>
#include <optional>

#include "weft/base/fields.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/parts/membership_parts.h"
#include "weft/wire/membership_message.h"

namespace weft {

class ViewEvidence : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  const std::map<PeerId, ViewClaim>& claims() const { return state_.claims; }
  bool waits() const { return !state_.claims.empty(); }
  bool has_hint() const { return state_.hint.has_value(); }
  // Another view is installed here, or this peer is out.
  void clear();
  void drop_hint() { state_.hint.reset(); }

  void on_notice(const PeerId& from, const ViewNoticeMessage& message);
  void on_removed(const PeerId& from, const RemovedMessage& message);
  void weigh_claims();
  void ask_members();
  void follow_hint();

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  bool may_inform_newcomer(const PeerId& from) const;
  void ask_for_whole(const PeerId& from, const ViewId& view);
  bool concerns_us(const ViewNoticeMessage& message, bool included) const;
  bool includes_us(const ViewNoticeMessage& message) const;
  void take_notice(const ViewNoticeMessage& message);
  void claim_view(const PeerId& from, ViewClaim claim);
  // REQUIRES: it is the only one.
  bool claims_refused(const ViewClaim& claim) const;
  void on_later_view(const PeerId& from);

  struct State {
    // Claims of members of this view about later ones, which are not believed yet; and the latest
    // such hint from another peer with the run's key.
    std::map<PeerId, ViewClaim> claims;
    std::optional<ViewHint> hint;
    // When the members may be asked again, at the earliest, whether there is a later view.
    TimePoint ask_members_at{};

    WEFT_FIELDS((claims, hint), (ask_members_at))
  };

  State state_;
};

}  // namespace weft
