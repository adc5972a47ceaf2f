// FormerMembers: the peers that were members once, their addresses, and why they left.
//
// Members that did not leave of their own accord are dialled as long as this peer runs, one at a
// time, since the run may live on with them.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weft/base/fields.h"
#include "weft/peer/membership.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/ticket.h"

namespace weft {

class FormerMembers : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  const std::map<PeerId, Departure>& departed() const { return state_.departed; }
  const std::map<PeerId, Member>& all() const { return state_.former; }
  const std::vector<PeerAddress>& refuge() const { return state_.refuge; }
  // The members of a later view or of another branch, which this peer is to ask from now on.
  void set_refuge(std::vector<PeerAddress> members) { state_.refuge = std::move(members); }
  void clear_refuge() { state_.refuge.clear(); }
  // `peer` was expelled from the run.
  void shut_out(const PeerId& peer);

  bool has_met(const PeerId& peer) const;
  void remember_former(const Member& member);
  void follow_departures(const ViewChange& change);
  void dial_former();
  void announce_former();
  void announce_former(const PeerId& to);
  void remember_departures(const ViewChange& change);
  std::set<PeerId> returned_members() const;
  void forget_former_members();

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  struct State {
    // The latest reason for which each former member left.
    std::map<PeerId, Departure> departed;
    // Members of earlier views that did not leave of their own accord; they are dialled again and
    // again.
    std::map<PeerId, Member> former;
    std::optional<PeerId> former_dialled;
    TimePoint dial_former_at{};
    // The addresses of the members of the present view.
    std::map<PeerId, Member> addresses;
    // The members of the branch that absorbed this peer's, for its ticket.
    std::vector<PeerAddress> refuge;

    WEFT_FIELDS((departed, former, refuge), (former_dialled, dial_former_at, addresses))
  };

  State state_;
};

}  // namespace weft
