// FormerMember: a machine that was a member, left, and lies from then on.
//
// It knows all that a member knew, the run's key included; the members have renewed that since. It
// links to one peer after the other and tells each of views and removals that nobody decided, made
// up or as it heard them, with good hashes and for the peer's right incarnation.
// Threads: one owner.
#pragma once

#include <vector>

#include "weft/peer/parts/membership_core.h"
#include "weft/sim/membership/sim_peer.h"

namespace weft {

class FormerMember {
 public:
  FormerMember(SimWorld& world, const PeerId& id)
      : world_(world), id_(id), rng_(world.rng.next_u64()) {
    MembershipOptions options = test_membership(id);
    options.on_split = world.options.merge ? SplitPolicy::kMerge : SplitPolicy::kPause;
    peer_ = std::make_unique<SimPeer>(world, std::move(options));
  }

  SimPeer& peer() { return *peer_; }

  // Some lies for `victim`, whose present view may be known to a former member by its fellows.
  void attack(const SimPeer& victim) {
    if (!peer_->left) return;
    if (!peer_->transport.linked(victim.id)) {
      peer_->transport.connect({victim.id, {peer_->net.endpoint(victim.id)}});
      said_ = 0;
      return;
    }
    for (int i = 0; i < 2; ++i, ++said_) lie(victim);
    // A stranger's frames are counted; a new link has a new count.
    if (said_ < 6) return;
    peer_->transport.close(victim.id, unavailable("enough over this link"));
    said_ = 0;
  }

 private:
  void lie(const SimPeer& victim) {
    const View known = victim.view();
    ViewNoticeMessage made_up;
    made_up.previous = known.id;
    if (rng_.chance(0.5)) made_up.previous.number = ViewNumber(rng_.next_u64() >> 1U);
    made_up.value.base_round = known.base_round;
    made_up.value.lineage = known.lineage;
    made_up.value.members = {Member{id_, 1, {}}};
    if (rng_.chance(0.5)) made_up.value.members.push_back({victim.id, victim.incarnation(), {}});
    made_up.view = next_view_id(test_membership({}).run, made_up.previous, made_up.value);
    if (heard_.view.number.value() == 0 || rng_.chance(0.2)) heard_ = made_up;
    switch (rng_.below(7)) {
      case 0:
        // As what it changes, in the victim's view or in one that nobody holds.
        made_up.difference = difference_to(test_membership({}).run, known, made_up.value);
        made_up.difference->next = made_up.view.hash;
        return say(victim, frame_type::kViewNotice, made_up);
      case 1:
        return say(victim, frame_type::kViewNotice, made_up);
      case 2:
        return say(victim, frame_type::kViewNotice, heard_);
      case 3:
        return say(victim, frame_type::kRemoved, RemovedMessage{made_up.view, 1, "a lie"});
      case 4: {
        const auto& links = victim.membership->core().links.all();
        const auto link = links.find(id_);
        if (link == links.end()) return;
        const MembershipOptions options = test_membership(id_);
        const ProofLink proven{id_, victim.id, link->second.exporter};
        return say(victim, frame_type::kMemberProof,
                   MemberProofMessage{member_proof(options.invitation_key, options.run, proven)});
      }
      case 5: {
        StandingMessage standing{made_up, known.base_round, std::uint64_t{1} << 50U, Hash256{5}};
        if (rng_.chance(0.5)) standing.current.value.yields_to = known.lineage.branch();
        ViewNoticeMessage& current = standing.current;
        current.view = next_view_id(test_membership({}).run, current.previous, current.value);
        return say(victim, frame_type::kStanding, standing);
      }
      default:
        return say(victim, frame_type::kOutside, OutsideMessage{rng_.next_u64()});
    }
  }
  template <class Message>
  void say(const SimPeer& victim, std::uint8_t type, const Message& message) {
    (void)peer_->transport.send(victim.id, Lane::kControl, {type, message.encode(), {}});
  }

  SimWorld& world_;
  PeerId id_;
  Rng rng_;
  std::unique_ptr<SimPeer> peer_;
  // What it has told once, to be told again later.
  ViewNoticeMessage heard_;
  int said_ = 0;
};

}  // namespace weft
