// Former members: this peer remembers them, dials them, and announces them to later newcomers.

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

constexpr std::uint64_t kBeatsPerFormer = 8;

}  // namespace

void FormerMembers::remember_departures(const ViewChange& change) {
  for (const Departure& departure : change.left) {
    state_.departed.insert_or_assign(departure.id, departure);
    if (state_.departed.size() > kMembersMax) state_.departed.erase(state_.departed.begin());
  }
  for (const Member& member : core_.view.members) {
    state_.departed.erase(member.id);
    core_.newcomers.forget(member.id);
  }
}

// Members that were removed as failed although their processes lived on.
std::set<PeerId> FormerMembers::returned_members() const {
  std::set<PeerId> returned;
  for (const Member& member : core_.view.members) {
    const auto known = state_.departed.find(member.id);
    if (known != state_.departed.end() && known->second.cause == DepartureCause::kFailed &&
        known->second.incarnation + 1 == member.incarnation) {
      returned.insert(member.id);
    }
  }
  return returned;
}

// Whether `peer`, no member of this view, was one that this peer knew of, or is one of a branch
// that it has met.
bool FormerMembers::has_met(const PeerId& peer) const {
  if (core_.bans.revocations().ban_reason(peer) != nullptr) return false;
  const auto gone = state_.departed.find(peer);
  return state_.former.count(peer) != 0 || core_.meetings.in_meeting(peer) ||
         (gone != state_.departed.end() && gone->second.cause != DepartureCause::kExpelled);
}

// The key was renewed: a peer that is no member now is a stranger like any other.
void FormerMembers::forget_former_members() {
  state_.departed.clear();
  state_.former.clear();
  core_.keys.forget_shown();
  core_.evidence.drop_hint();
  core_.links.report_trusts();
}

void FormerMembers::shut_out(const PeerId& peer) {
  state_.former.erase(peer);
  const auto gone = state_.departed.find(peer);
  if (gone != state_.departed.end()) gone->second.cause = DepartureCause::kExpelled;
}

void FormerMembers::remember_former(const Member& member) {
  if (state_.former.size() >= kMembersMax && state_.former.count(member.id) == 0) return;
  if (core_.bans.revocations().ban_reason(member.id) != nullptr) return;
  state_.former.insert_or_assign(member.id, member);
}

void FormerMembers::follow_departures(const ViewChange& change) {
  for (const Departure& departure : change.left) {
    const auto known = state_.addresses.find(departure.id);
    // A member that left or restarted goes on in no branch of its own, but may be back in a later
    // view.
    const bool may_be_met = core_.merges() ? departure.cause == DepartureCause::kFailed
                                           : departure.cause != DepartureCause::kExpelled;
    if (may_be_met && known != state_.addresses.end()) remember_former(known->second);
  }
  // Likewise members that left while this peer was a newcomer; where there are branches, the
  // members announce them.
  if (core_.joining.attempt() && !core_.merges()) {
    for (const Member& member : core_.joining.attempt()->known.members) {
      if (member.id != core_.options.self) remember_former(member);
    }
  }
  for (const Member& member : core_.view.members) state_.former.erase(member.id);
  state_.addresses.clear();
  for (const Member& member : core_.view.members) state_.addresses.emplace(member.id, member);
}

void FormerMembers::dial_former() {
  if (state_.former.empty() || core_.now < state_.dial_former_at) return;
  // Each member dials in its turn, so that all together dial one in each interval.
  const int dialling =
      core_.state == MembershipState::kIsolated ? core_.watch.reachable() : core_.view.size();
  state_.dial_former_at = core_.now + core_.options.former_redial_interval * dialling;
  auto next = state_.former_dialled ? state_.former.upper_bound(*state_.former_dialled)
                                    : state_.former.begin();
  if (next == state_.former.end()) next = state_.former.begin();
  state_.former_dialled = next->first;
  if (!core_.links.up(next->first)) core_.sink.connect({next->first, next->second.endpoints});
}

// Newcomers do not know which members the run has lost: every member announces them to one other at
// a time.
void FormerMembers::announce_former() {
  if (core_.beats % kBeatsPerFormer != 0 || core_.view.size() < 2) return;
  const auto turn = static_cast<int>(core_.beats / kBeatsPerFormer % 1'000'000);
  const int rank = core_.view.rank_of(core_.options.self).value();
  const int other = (rank + 1 + turn % (core_.view.size() - 1)) % core_.view.size();
  announce_former(core_.view.members[static_cast<std::size_t>(other)].id);
}

void FormerMembers::announce_former(const PeerId& to) {
  if (state_.former.empty()) return;
  BranchMessage message{core_.view.id, 0, BranchStep::kFormer, {}, {}, {}};
  for (const auto& [peer, member] : state_.former) message.members.push_back(member);
  core_.send(to, frame_type::kBranch, message);
}

void FormerMembers::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
