// What each link may do, and how little a stranger's: the one gate in front of everything else.
#include <algorithm>
#include <chrono>

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

constexpr Duration kTwinGap = std::chrono::seconds(60);
Status crowded(const StrangerLimits& limits) {
  return unavailable("more than " + std::to_string(limits.count_max) + " peers, or " +
                     std::to_string(limits.of_address_max) +
                     " of one address, that are no members are connected");
}

}  // namespace

// A removed peer sends with each heartbeat; it is answered twice as often at most, however much it
// sends.
bool LinkTable::may_notify_outsider(const PeerId& peer) {
  const auto [last, first] = state_.outsiders_notified.try_emplace(peer, core_.now);
  if (!first && core_.now - last->second < core_.options.heartbeat_interval / 2) return false;
  last->second = core_.now;
  return true;
}

// Once a minute for each peer, since a refused one tries again.
bool LinkTable::may_report_twin(const PeerId& peer) {
  const auto last = state_.twins_reported.find(peer);
  if (last != state_.twins_reported.end() && core_.now - last->second < kTwinGap) return false;
  if (last == state_.twins_reported.end() && state_.twins_reported.size() >= kMembersMax)
    return false;
  state_.twins_reported.insert_or_assign(peer, core_.now);
  return true;
}

void LinkTable::on_twin(const PeerId& peer, const std::string& where) {
  if (!core_.active() || !core_.is_other_member(peer) || !may_report_twin(peer)) return;
  core_.sink.on_second_process(peer, "another process, at " + where +
                                         ", uses the identity of peer " + peer.short_name() +
                                         ", which lives: it was refused");
  if (state_.links.count(peer) == 0) return;
  core_.send(peer, frame_type::kJoinRefused,
             JoinRefusedMessage{
                 RefusalCode::kTwin, 0,
                 "another process, at " + where + ", uses this peer's identity; it was refused"});
}

void LinkTable::on_own_twin(const PeerId& from, const std::string& reason) {
  if (!core_.is_other_member(from) || !may_report_twin(core_.options.self)) return;
  core_.sink.on_second_process(core_.options.self,
                               "peer " + from.short_name() + " says: " + reason);
}

LinkTable::LinkTable(Membership::Core& core, const StrangerLimits& limits)
    : MembershipPart(core), state_(limits) {}

void LinkTable::add(const LinkInfo& link) {
  const PeerId& peer = link.peer;
  state_.links.insert_or_assign(peer, link);
  state_.trusts.erase(peer);
  state_.turned_away.erase(peer);
  state_.strangers.remove(peer);
  report_trust(peer);
}

void LinkTable::remove(const PeerId& peer) {
  state_.links.erase(peer);
  state_.strangers.remove(peer);
  state_.outsiders_notified.erase(peer);
  state_.trusts.erase(peer);
  state_.turned_away.erase(peer);
}

bool LinkTable::is_candidate(const PeerId& peer) const {
  // This process may vote as its earlier life.
  if (core_.past.life() && core_.past.life()->view.contains(peer)) return true;
  if (!core_.joining.attempt()) return false;
  const std::vector<PeerAddress>& named = core_.joining.attempt()->candidates;
  return core_.joining.attempt()->asked == peer || core_.joining.attempt()->sponsor == peer ||
         std::any_of(named.begin(), named.end(),
                     [&](const PeerAddress& candidate) { return candidate.id == peer; });
}

LinkTrust LinkTable::trust_of(const PeerId& peer) const {
  if (core_.role(peer) != PeerRole::kStranger || is_candidate(peer)) return LinkTrust::kProved;
  if (core_.bans.revocations().ban_reason(peer) != nullptr) return LinkTrust::kStranger;
  const bool was_member = core_.former.has_met(peer) || core_.balloting.has_accepted(peer) ||
                          (!core_.active() && core_.view.contains(peer));
  const bool proof = core_.keys.key_shown().count(peer) != 0 || state_.strangers.has_ticket(peer);
  return was_member || proof ? LinkTrust::kKnown : LinkTrust::kStranger;
}

// Links without a role last a while; these last longer.
bool LinkTable::keeps_link(const PeerId& peer) const {
  if (core_.role(peer) != PeerRole::kStranger || is_candidate(peer)) return true;
  if (!core_.active()) return core_.view.contains(peer);
  if (core_.state == MembershipState::kIsolated &&
      (core_.former.all().count(peer) != 0 || core_.balloting.has_accepted(peer))) {
    return true;
  }
  return core_.merges() && core_.former.has_met(peer);
}

void LinkTable::turn_away(const PeerId& peer, const Status& why) {
  state_.strangers.remove(peer);
  state_.turned_away.insert(peer);
  core_.sink.on_refused(peer, why);
  core_.sink.close(peer, why);
}

void LinkTable::turn_away_expired() {
  for (const PeerId& peer : state_.strangers.take_expired(core_.now)) {
    const auto timeout =
        std::chrono::duration_cast<std::chrono::milliseconds>(core_.options.strangers.timeout)
            .count();
    state_.turned_away.insert(peer);
    core_.sink.close(peer,
                     timed_out("no proof of a ticket within " + std::to_string(timeout) + " ms"));
  }
}

void LinkTable::report_trust(const PeerId& peer) {
  const auto link = state_.links.find(peer);
  if (link == state_.links.end() || state_.turned_away.count(peer) != 0) return;
  if (keeps_link(peer)) {
    state_.strangers.remove(peer);
  } else {
    for (const PeerId& gone : state_.strangers.add(peer, link->second.origin, core_.now)) {
      turn_away(gone, crowded(core_.options.strangers));
    }
  }
  const LinkTrust trust = trust_of(peer);
  const auto [last, first] = state_.trusts.try_emplace(peer, trust);
  if (!first && last->second == trust) return;
  last->second = trust;
  core_.sink.set_trust(peer, trust);
}

void LinkTable::report_trusts() {
  for (const auto& [peer, link] : state_.links) report_trust(peer);
}

void LinkTable::accept_ticket(const PeerId& peer) {
  for (const PeerId& gone : state_.strangers.show_ticket(peer, core_.now)) {
    turn_away(gone, unavailable("too many peers wait with a ticket"));
  }
  report_trust(peer);
}

// A stranger's frames are received until it was answered, and from then on if they show a ticket or
// the key.
bool LinkTable::may_speak(const PeerId& from, const FrameView& frame) {
  if (state_.links.count(from) == 0 || state_.turned_away.count(from) != 0) return false;
  if (!state_.strangers.contains(from) || trust_of(from) != LinkTrust::kStranger) return true;
  const bool shows_proof = frame.type == frame_type::kRecipeRequest ||
                           frame.type == frame_type::kJoinRequest ||
                           frame.type == frame_type::kMemberProof;
  const bool flood = !state_.strangers.count_frame(from, frame.head.size() + frame.body.size());
  if (!flood && (shows_proof || !state_.strangers.answered(from))) return true;
  if (!flood) {
    turn_away(from, unavailable("no proof of a ticket came, and its question was answered"));
    return false;
  }
  // A newcomer asks for the state, also at members that do not know of it yet.
  if (is_membership_frame(frame.type)) {
    core_.judgement.blame(from, Offence::kFlood, "more frames than a stranger may send");
  }
  turn_away(from, unavailable("more than " + std::to_string(core_.options.strangers.frames_max) +
                              " frames, or " + std::to_string(core_.options.strangers.bytes_max) +
                              " bytes, from a peer that is no member"));
  return false;
}

bool LinkTable::may_answer(const PeerId& to) {
  if (!state_.strangers.contains(to) || core_.keys.key_shown().count(to) != 0) return true;
  if (trust_of(to) != LinkTrust::kStranger)
    return state_.strangers.count_known_answer(to, core_.now);
  if (state_.strangers.count_answer(to)) return true;
  turn_away(to, unavailable("no proof of a ticket came, and its question was answered"));
  return false;
}

// Banned peers get a link and, once, an answer with the ban.
bool LinkTable::shuns(const PeerId& stranger) const {
  return core_.active() && core_.role(stranger) == PeerRole::kStranger &&
         core_.bans.revocations().ban_reason(stranger) == nullptr &&
         core_.judgement.conduct().bad(stranger, core_.now);
}

void LinkTable::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
