// MemberWatch: which of the other members are alive, which ones this peer and others suspect, and
// which are to be removed.
//
// Each member is watched by a few others along the ring. An observer that suspects a member
// announces it to the others; the member is removed when two observers have reported it, or the
// only one that could.
//
// Threads: as Membership. Fails: never.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/parts/membership_parts.h"

namespace weft {

class MemberWatch : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  // The other members of the current view.
  const std::map<PeerId, Watched>& all() const { return state_.watched; }
  // The members that watch this peer, and those that it watches.
  const std::vector<PeerId>& observers() const { return state_.observers_of_self; }
  const std::vector<PeerId>& observed() const { return state_.observed; }
  // Each is false if `peer` is no other member.
  bool on_link_up(const PeerId& peer);
  bool on_link_down(const PeerId& peer, const Status& why);
  bool on_sign_of_life(const PeerId& peer);
  // This peer's process stood still, so no member counts as silent.
  void forgive();
  // There is evidence, which others may lack, that `peer` must be removed.
  void put_out(const PeerId& peer, Departure departure);
  // This peer is out of its view.
  void clear() { state_.watched.clear(); }

  void send_heartbeat(const PeerId& to);
  void watch_members();
  void watch_links();
  void set_suspicion(const PeerId& peer, SuspicionKind kind, const std::string& reason);
  void announce_suspicions();
  void on_heartbeat(const PeerId& from, const HeartbeatMessage& message);
  void on_suspicion(const PeerId& from, const SuspicionMessage& message);
  void on_outside(const PeerId& from, const OutsideMessage& message);
  void on_leaving(const PeerId& from, const LeavingMessage& message);
  void mark_restarted(const PeerId& peer, std::uint64_t incarnation);
  int reporters(const Watched& member) const;
  std::vector<Departure> departures() const;
  int reachable() const;
  bool all_linked() const { return state_.unlinked == 0; }
  void count_unlinked();
  void choose_observers();
  void rebuild_watch(const View& previous, const std::set<PeerId>& returned);
  void greet_restarted();
  bool all_others_gone() const;

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  void withdraw_suspicion(const PeerId& peer);
  void announce_suspicion(const PeerId& suspect, int listeners, bool withdrawn);
  void set_linked(Watched& member, bool linked);
  bool flapping(const Watched& member) const;
  bool owes_only(const Watched& member) const;
  bool watches_alone() const;
  void add_bad_links(std::vector<Departure>& out) const;

  struct State {
    std::map<PeerId, Watched> watched;
    // How many of them have no link.
    int unlinked = 0;
    std::vector<PeerId> observers_of_self;
    std::vector<PeerId> observed;

    WEFT_FIELDS((watched), (unlinked, observers_of_self, observed))
  };

  State state_;
};

}  // namespace weft
