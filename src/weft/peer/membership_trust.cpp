// What each link may do, and how little a stranger's: the one gate in front of everything else.
#include <algorithm>

#include "weft/peer/membership_core.h"

namespace weft {
namespace {

Status crowded(const StrangerLimits& limits) {
  return unavailable("more than " + std::to_string(limits.count_max) + " peers, or " +
                     std::to_string(limits.of_address_max) +
                     " of one address, that are no members are connected");
}

}  // namespace

bool Membership::Core::is_candidate(const PeerId& peer) const {
  // This process may vote as its earlier life.
  if (past && past->view.contains(peer)) return true;
  if (!attempt) return false;
  const std::vector<PeerAddress>& named = attempt->candidates;
  return attempt->asked == peer || attempt->sponsor == peer ||
         std::any_of(named.begin(), named.end(),
                     [&](const PeerAddress& candidate) { return candidate.id == peer; });
}

LinkTrust Membership::Core::trust_of(const PeerId& peer) const {
  if (role(peer) != PeerRole::kStranger || is_candidate(peer)) return LinkTrust::kProved;
  if (revocations.ban_reason(peer) != nullptr) return LinkTrust::kStranger;
  const bool was_member = has_met(peer) || has_accepted(peer) || (!active() && view.contains(peer));
  const bool proof = key_shown.count(peer) != 0 || strangers.has_ticket(peer);
  return was_member || proof ? LinkTrust::kKnown : LinkTrust::kStranger;
}

// Links without a role last a while; these last longer.
bool Membership::Core::keeps_link(const PeerId& peer) const {
  if (role(peer) != PeerRole::kStranger || is_candidate(peer)) return true;
  if (!active()) return view.contains(peer);
  if (state == MembershipState::kIsolated && (former.count(peer) != 0 || has_accepted(peer))) {
    return true;
  }
  return merges() && has_met(peer);
}

void Membership::Core::turn_away(const PeerId& peer, const Status& why) {
  strangers.remove(peer);
  turned_away.insert(peer);
  sink.on_refused(peer, why);
  sink.close(peer, why);
}

void Membership::Core::turn_away_expired() {
  for (const PeerId& peer : strangers.take_expired(now)) {
    const auto timeout =
        std::chrono::duration_cast<std::chrono::milliseconds>(options.strangers.timeout).count();
    turned_away.insert(peer);
    sink.close(peer, timed_out("no proof of a ticket within " + std::to_string(timeout) + " ms"));
  }
}

void Membership::Core::tell_trust(const PeerId& peer) {
  const auto link = links.find(peer);
  if (link == links.end() || turned_away.count(peer) != 0) return;
  if (keeps_link(peer)) {
    strangers.remove(peer);
  } else {
    for (const PeerId& gone : strangers.add(peer, link->second.origin, now)) {
      turn_away(gone, crowded(options.strangers));
    }
  }
  const LinkTrust trust = trust_of(peer);
  const auto [told, first] = trusts.try_emplace(peer, trust);
  if (!first && told->second == trust) return;
  told->second = trust;
  sink.set_trust(peer, trust);
}

void Membership::Core::tell_trusts() {
  for (const auto& [peer, link] : links) tell_trust(peer);
}

void Membership::Core::accept_ticket(const PeerId& peer) {
  for (const PeerId& gone : strangers.show_ticket(peer, now)) {
    turn_away(gone, unavailable("too many peers wait with a ticket"));
  }
  tell_trust(peer);
}

// A stranger is heard until it was answered, and from then on if it shows a ticket, or the key.
bool Membership::Core::may_speak(const PeerId& from, const FrameView& frame) {
  if (links.count(from) == 0 || turned_away.count(from) != 0) return false;
  if (!strangers.contains(from) || trust_of(from) != LinkTrust::kStranger) return true;
  const bool shows_proof = frame.type == frame_type::kRecipeRequest ||
                           frame.type == frame_type::kJoinRequest ||
                           frame.type == frame_type::kMemberProof;
  const bool flood = !strangers.count_frame(from, frame.head.size() + frame.body.size());
  if (!flood && (shows_proof || !strangers.answered(from))) return true;
  if (!flood) {
    turn_away(from, unavailable("no proof of a ticket came, and its question was answered"));
    return false;
  }
  // A newcomer asks members for the state that have not heard of it yet.
  if (is_membership_frame(frame.type)) {
    blame(from, Offence::kFlood, "more frames than a stranger may send");
  }
  turn_away(from, unavailable("more than " + std::to_string(options.strangers.frames_max) +
                              " frames, or " + std::to_string(options.strangers.bytes_max) +
                              " bytes, from a peer that is no member"));
  return false;
}

bool Membership::Core::may_answer(const PeerId& to) {
  if (!strangers.contains(to) || key_shown.count(to) != 0) return true;
  if (trust_of(to) != LinkTrust::kStranger) return strangers.count_known_answer(to, now);
  if (strangers.count_answer(to)) return true;
  turn_away(to, unavailable("no proof of a ticket came, and its question was answered"));
  return false;
}

bool Membership::hears(const PeerId& from, const FrameView& frame, TimePoint now) {
  core_->now = now;
  return core_->may_speak(from, frame) && core_->trust_of(from) != LinkTrust::kStranger;
}

}  // namespace weft
