// BanList: which peers are banned, which invitations are void, and which members were informed of
// it.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "weft/base/fields.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/peer/membership.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/parts/membership_parts.h"
#include "weft/peer/revocations.h"
#include "weft/wire/admission_message.h"
#include "weft/wire/membership_message.h"

namespace weft {

class BanList : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  const Revocations& revocations() const { return state_.revocations; }
  // False if the ban was known. Sends nothing.
  bool ban(const Ban& ban) { return state_.revocations.ban(ban); }
  // Adopts the new entries of `received` and returns them. Bans of peers for which `spares` holds
  // are skipped.
  RevocationMessage learn(const RevocationMessage& received,
                          const std::function<bool(const PeerId&)>& spares);
  void on_link_down(const PeerId& peer) { state_.bans_sent.erase(peer); }
  // A view was installed: promises for the one before it do not count any more.
  void on_view() { state_.banned_at_promise.clear(); }

  Status revoke(const InvitationId& invitation);
  void send_revocations(const PeerId& to);
  void on_revocation(const PeerId& from, const RevocationMessage& message);
  void shut_out(const PeerId& peer, const std::string& reason);
  void apply_spared_bans(const ViewChange& change);
  // Sends the bans to a proposer whose bans have the digest `theirs`, before the promise to it.
  void send_bans(const PeerId& to, const Hash128& theirs);
  // The digest of the banned peers; zeros if there are none.
  Hash128 digest() const;
  bool admits_banned(const ViewValue& value) const;

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  void void_invitation(const InvitationId& invitation, const PeerId& by);

  struct State {
    Revocations revocations;
    std::map<PeerId, SparedBan> spared;
    // The peers that were banned already when this peer made its last promise.
    std::set<PeerId> banned_at_promise;
    // How many bans each linked member has been sent.
    std::map<PeerId, std::size_t> bans_sent;

    WEFT_FIELDS((revocations, spared, banned_at_promise, bans_sent), ())
  };

  State state_;
};

}  // namespace weft
