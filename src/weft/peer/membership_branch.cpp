// Branches: going on without a quorum, and becoming one again.
//
// Founding. Isolated for `split_after`, the member with the lowest id among those that reach each
// other proposes a branch of just these. Every one of them must agree, and from its word on it
// votes no more in the old view (`retired`), though it still follows a view that was decided there.
// The branch's base is the last round that any of them has committed: all members of the old view
// were done with it, so whoever goes on there has it as well. Should the founder be lost after some
// agreed, they found another branch; a branch's name covers its founder and attempt, so no two
// views of one branch can have one number.
//
// Meeting others is membership_meeting.cpp.
#include <algorithm>

#include "weft/peer/membership_core.h"
#include "weft/wire/codec.h"

namespace weft {
namespace {

constexpr std::size_t kOwnViewsMax = 256;
// Who misses so many attempts is left out of the next ones, and forgiven after so many.
constexpr int kMissesMax = 4;
constexpr std::uint64_t kForgivenRounds = 12;
constexpr std::uint64_t kBeatsPerFormer = 8;

Hash256 branch_name(const RunId& run, const ViewId& from, const PeerId& founder,
                    std::uint64_t incarnation, std::uint64_t attempt) {
  return sha256(Writer()
                    .text("weft branch")
                    .raw(run)
                    .view(from)
                    .peer(founder)
                    .u64(incarnation)
                    .u64(attempt)
                    .written());
}

}  // namespace

// Whether a member's view, older than this one's or as old, is not of this branch. A newer one's
// owner will find that out when it gets a heartbeat.
bool Membership::Core::of_other_branch(const ViewId& theirs) const {
  return merges() && theirs.number <= view.id.number && own_views.count(theirs) == 0;
}

// --- Founding.

bool Membership::Core::may_branch() const {
  return merges() && state == MembershipState::kIsolated && isolated_since && !leaving &&
         view.lineage.points.size() < kBranchPointsMax;
}

// A member that has yet to fetch what came before its view has nothing that a branch could go on
// with. It may follow one whose founder has.
bool Membership::Core::holds_base() const { return sink.round_status().done >= view.base_round; }

void Membership::Core::branch_when_due() {
  if (!may_branch() || !holds_base()) return;
  if (branching) {
    if (now < branching->ends) return;
    const BranchAttempt failed = *branching;
    for (const PeerId& peer : failed.members) {
      if (failed.agreed.count(peer) == 0) miss(peer);
    }
  }
  int before = 0;
  for (const auto& [peer, member] : watched) {
    if (peer < options.self && member.linked && !member.own && !member.gone) ++before;
  }
  const Duration turn = 2 * options.takeover_timeout * std::min(before, 8);
  const TimePoint due = *isolated_since + options.split_after + turn;
  if (now < std::max({due, agreed_until, branch_again_at})) return;
  propose_branch();
}

void Membership::Core::propose_branch() {
  if (++branch_attempts % kForgivenRounds == 0) misses.clear();
  BranchAttempt& a = branching.emplace();
  a.number = branch_attempts;
  a.ends = now + 2 * options.takeover_timeout;
  for (const Member& member : view.members) {
    const auto seen = watched.find(member.id);
    const auto missed = misses.find(member.id);
    const bool fits = member.id == options.self ||
                      (seen->second.linked && !seen->second.own && !seen->second.gone &&
                       (missed == misses.end() || missed->second < kMissesMax));
    if (fits) a.members.push_back(member.id);
  }
  retired = true;
  if (!keep_record(true)) return;
  a.agreed.emplace(options.self, sink.committed_round());
  BranchMessage proposal{view.id, a.number, BranchStep::kPropose, {}, {}, {}};
  for (const PeerId& peer : a.members) proposal.members.push_back(*view.find(peer));
  for (const PeerId& peer : a.members) {
    if (peer != options.self) send(peer, frame_type::kBranch, proposal);
  }
  if (a.agreed.size() == a.members.size()) found_branch();
}

void Membership::Core::on_branch(const PeerId& from, const BranchMessage& message) {
  // A newcomer hears it from its sponsor.
  const bool told = message.step == BranchStep::kFormer && has_sponsor(from);
  if (!told && (!merges() || !is_current(from, message.view))) return;
  if (message.step == BranchStep::kPropose) {
    answer_branch(from, message);
    return;
  }
  if (message.step == BranchStep::kHave) {
    for (auto& [branch, meeting] : meetings) {
      if (meeting.standing.snapshot == message.snapshot) meeting.holders.insert(from);
    }
    if (wants_merge()) own_news = stirred = true;
    return;
  }
  if (message.step == BranchStep::kFormer) {
    for (const Member& member : message.members) {
      if (member.id != options.self && !is_other_member(member.id)) remember_former(member);
    }
    return;
  }
  if (!branching || branching->number != message.attempt) return;
  BranchAttempt& a = *branching;
  if (std::find(a.members.begin(), a.members.end(), from) == a.members.end()) return;
  if (message.step == BranchStep::kRefuse) {
    miss(from);
    return;
  }
  a.agreed.insert_or_assign(from, message.committed);
  if (a.agreed.size() == a.members.size()) found_branch();
}

// The attempt has failed, and it was this peer's doing.
void Membership::Core::miss(const PeerId& peer) {
  ++misses[peer];
  branching.reset();
  branch_again_at = now + 2 * options.takeover_timeout;
}

bool Membership::Core::fits_branch(const PeerId& from, const BranchMessage& message) const {
  if (!may_branch() || now < *isolated_since + options.split_after / 2) return false;
  if (branching && !(from < options.self)) return false;
  if (now < agreed_until && agreed_with != from) return false;
  bool included = false;
  for (const Member& member : message.members) {
    const PeerId& peer = member.id;
    included = included || peer == options.self;
    const auto seen = watched.find(peer);
    if (peer != options.self && (seen == watched.end() || !seen->second.linked)) return false;
  }
  return included;
}

void Membership::Core::answer_branch(const PeerId& from, const BranchMessage& message) {
  BranchMessage answer{message.view, message.attempt, BranchStep::kRefuse, {}, {}, {}};
  if (fits_branch(from, message)) {
    branching.reset();
    retired = true;
    agreed_with = from;
    agreed_until = now + 4 * options.takeover_timeout;
    if (!keep_record(true)) return;
    answer.step = BranchStep::kAgree;
    answer.committed = sink.committed_round();
  }
  send(from, frame_type::kBranch, answer);
}

void Membership::Core::found_branch() {
  const BranchAttempt a = *branching;
  branching.reset();
  ViewValue value;
  value.base_round = view.base_round;
  for (const auto& [peer, committed] : a.agreed) {
    value.base_round = std::max(value.base_round, committed);
  }
  for (const Member& member : view.members) {
    if (a.agreed.count(member.id) != 0) {
      value.members.push_back(member);
    } else {
      value.departures.push_back(
          {member.id, member.incarnation, DepartureCause::kFailed, "it was out of reach"});
    }
  }
  value.lineage = view.lineage;
  value.lineage.points.push_back(
      {branch_name(options.run, view.id, options.self, options.incarnation, a.number), view.id,
       sink.samples_after(value.base_round)});
  decide(value);
}

// --- Redialling.

void Membership::Core::remember_former(const Member& member) {
  if (former.size() >= kMembersMax && former.count(member.id) == 0) return;
  if (revocations.ban_reason(member.id) != nullptr) return;
  former.insert_or_assign(member.id, member);
}

// What a new view means for this peer's branch; `view` is installed already.
void Membership::Core::follow_branch(const ViewChange& change) {
  isolated_since.reset();
  branching.reset();
  retired = false;
  misses.clear();
  refuge.clear();
  agreed_until = now;
  follow_departures(change);
  if (!merges()) return;
  if (own_branch != view.lineage.branch()) own_views.clear();
  own_branch = view.lineage.branch();
  own_views.insert(view.id);
  if (own_views.size() > kOwnViewsMax) own_views.erase(own_views.begin());
  if (view.merge) meetings.erase(view.merge->branch);
  for (auto& [branch, meeting] : meetings) meeting.offered = meeting.offered && meeting.ready;
  if (view.yields_to && yielding_to != view.yields_to) yielding_since = now;
  yielding_to = view.yields_to;
  // A new view's base round may be a later one, and a newcomer has offered another branch's state.
  offered_snapshot.reset();
}

void Membership::Core::follow_departures(const ViewChange& change) {
  for (const Departure& departure : change.left) {
    const auto known = addresses.find(departure.id);
    // Who left or restarted goes on in no branch of its own, but may be back in a later view.
    const bool may_be_met = merges() ? departure.cause == DepartureCause::kFailed
                                     : departure.cause != DepartureCause::kExpelled;
    if (may_be_met && known != addresses.end()) remember_former(known->second);
  }
  // And who went while this peer was a newcomer; fellow members tell it where there are branches.
  if (attempt && !merges()) {
    for (const Member& member : attempt->known.members) {
      if (member.id != options.self) remember_former(member);
    }
  }
  for (const Member& member : view.members) former.erase(member.id);
  addresses.clear();
  for (const Member& member : view.members) addresses.emplace(member.id, member);
}

void Membership::Core::dial_former() {
  if (former.empty() || now < dial_former_at) return;
  // Each member dials in its turn, so that all together dial one in each interval.
  const int dialling = state == MembershipState::kIsolated ? reachable() : view.size();
  dial_former_at = now + options.former_redial_interval * dialling;
  auto next = former_dialled ? former.upper_bound(*former_dialled) : former.begin();
  if (next == former.end()) next = former.begin();
  former_dialled = next->first;
  if (links.count(next->first) == 0) sink.connect({next->first, next->second.endpoints});
}

// Newcomers do not know whom the run has lost: every member tells one of its fellows at a time.
void Membership::Core::tell_former() {
  if (beats % kBeatsPerFormer != 0 || view.size() < 2) return;
  const auto turn = static_cast<int>(beats / kBeatsPerFormer % 1'000'000);
  const int rank = view.rank_of(options.self).value();
  const int other = (rank + 1 + turn % (view.size() - 1)) % view.size();
  tell_former(view.members[static_cast<std::size_t>(other)].id);
}

void Membership::Core::tell_former(const PeerId& to) {
  if (former.empty()) return;
  BranchMessage message{view.id, 0, BranchStep::kFormer, {}, {}, {}};
  for (const auto& [peer, member] : former) message.members.push_back(member);
  send(to, frame_type::kBranch, message);
}

}  // namespace weft
