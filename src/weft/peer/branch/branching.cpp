// Branches: how members without a quorum go on, and how branches merge.
//
// Founding. Isolated for `split_after`, the member with the lowest id among those that reach each
// other proposes a branch of just these. Every one of them must agree, and once it has, it does not
// vote in the old view any more (`retired`), though it still follows a view that was decided there.
// The branch's base is the last round that any of them has committed: all members of the old view
// were done with it, so the members that go on there have it as well. Should the founder be lost
// after some agreed, they found another branch; a branch's name covers its founder and attempt, so
// no two views of one branch can have one number.
//
// Meeting others is membership_meeting.cpp.
#include <algorithm>

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"
#include "weft/wire/codec.h"

namespace weft {
namespace {

constexpr std::size_t kOwnViewsMax = 256;
// A peer that misses this many attempts is left out of the next ones, and forgiven after this many.
constexpr int kMissesMax = 4;
constexpr std::uint64_t kForgivenRounds = 12;
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
bool Branching::of_other_branch(const ViewId& theirs) const {
  return core_.merges() && theirs.number <= core_.view.id.number &&
         state_.own_views.count(theirs) == 0;
}

void Branching::end() {
  state_.retired = false;
  state_.branching.reset();
}

bool Branching::may_branch() const {
  return core_.merges() && core_.state == MembershipState::kIsolated &&
         core_.quorum.isolated_since() && !core_.leaving &&
         core_.view.lineage.points.size() < kBranchPointsMax;
}

// A member that has yet to fetch what came before its view has nothing that a branch could go on
// with. It may follow one whose founder has.
bool Branching::holds_base() const {
  return core_.sink.round_status().done >= core_.view.base_round;
}

void Branching::branch_when_due() {
  if (!may_branch() || !holds_base()) return;
  if (state_.branching) {
    if (core_.now < state_.branching->ends) return;
    const BranchAttempt failed = *state_.branching;
    for (const PeerId& peer : failed.members) {
      if (failed.agreed.count(peer) == 0) miss(peer);
    }
  }
  int before = 0;
  for (const auto& [peer, member] : core_.watch.all()) {
    if (peer < core_.options.self && member.linked && !member.own && !member.gone) ++before;
  }
  const Duration turn = 2 * core_.options.takeover_timeout * std::min(before, 8);
  const TimePoint due = *core_.quorum.isolated_since() + core_.options.split_after + turn;
  if (core_.now < std::max({due, state_.agreed_until, state_.branch_again_at})) return;
  propose_branch();
}

void Branching::propose_branch() {
  if (++state_.branch_attempts % kForgivenRounds == 0) state_.misses.clear();
  BranchAttempt& a = state_.branching.emplace();
  a.number = state_.branch_attempts;
  a.ends = core_.now + 2 * core_.options.takeover_timeout;
  for (const Member& member : core_.view.members) {
    const auto seen = core_.watch.all().find(member.id);
    const auto missed = state_.misses.find(member.id);
    const bool fits = member.id == core_.options.self ||
                      (seen->second.linked && !seen->second.own && !seen->second.gone &&
                       (missed == state_.misses.end() || missed->second < kMissesMax));
    if (fits) a.members.push_back(member.id);
  }
  state_.retired = true;
  if (!core_.records.keep_record(true)) return;
  a.agreed.emplace(core_.options.self, core_.sink.committed_round());
  BranchMessage proposal{core_.view.id, a.number, BranchStep::kPropose, {}, {}, {}};
  for (const PeerId& peer : a.members) proposal.members.push_back(*core_.view.find(peer));
  for (const PeerId& peer : a.members) {
    if (peer != core_.options.self) core_.send(peer, frame_type::kBranch, proposal);
  }
  if (a.agreed.size() == a.members.size()) found_branch();
}

void Branching::on_branch(const PeerId& from, const BranchMessage& message) {
  // A newcomer learns it from its sponsor.
  const bool from_sponsor = message.step == BranchStep::kFormer && core_.joining.has_sponsor(from);
  if (!from_sponsor && (!core_.merges() || !core_.is_current(from, message.view))) return;
  if (message.step == BranchStep::kPropose) {
    answer_branch(from, message);
    return;
  }
  if (message.step == BranchStep::kHave) {
    core_.meetings.note_holder(from, message.snapshot);
    if (core_.meetings.wants_merge()) core_.balloting.hurry();
    return;
  }
  if (message.step == BranchStep::kFormer) {
    for (const Member& member : message.members) {
      if (member.id != core_.options.self && !core_.is_other_member(member.id))
        core_.former.remember_former(member);
    }
    return;
  }
  if (!state_.branching || state_.branching->number != message.attempt) return;
  BranchAttempt& a = *state_.branching;
  if (std::find(a.members.begin(), a.members.end(), from) == a.members.end()) return;
  if (message.step == BranchStep::kRefuse) {
    miss(from);
    return;
  }
  a.agreed.insert_or_assign(from, message.committed);
  if (a.agreed.size() == a.members.size()) found_branch();
}

// The attempt has failed, and it was this peer's doing.
void Branching::miss(const PeerId& peer) {
  ++state_.misses[peer];
  state_.branching.reset();
  state_.branch_again_at = core_.now + 2 * core_.options.takeover_timeout;
}

bool Branching::fits_branch(const PeerId& from, const BranchMessage& message) const {
  if (!may_branch() || core_.now < *core_.quorum.isolated_since() + core_.options.split_after / 2)
    return false;
  if (state_.branching && !(from < core_.options.self)) return false;
  if (core_.now < state_.agreed_until && state_.agreed_with != from) return false;
  bool included = false;
  for (const Member& member : message.members) {
    const PeerId& peer = member.id;
    included = included || peer == core_.options.self;
    const auto seen = core_.watch.all().find(peer);
    if (peer != core_.options.self && (seen == core_.watch.all().end() || !seen->second.linked))
      return false;
  }
  return included;
}

void Branching::answer_branch(const PeerId& from, const BranchMessage& message) {
  BranchMessage answer{message.view, message.attempt, BranchStep::kRefuse, {}, {}, {}};
  if (fits_branch(from, message)) {
    state_.branching.reset();
    state_.retired = true;
    state_.agreed_with = from;
    state_.agreed_until = core_.now + 4 * core_.options.takeover_timeout;
    if (!core_.records.keep_record(true)) return;
    answer.step = BranchStep::kAgree;
    answer.committed = core_.sink.committed_round();
  }
  core_.send(from, frame_type::kBranch, answer);
}

void Branching::found_branch() {
  const BranchAttempt a = *state_.branching;
  state_.branching.reset();
  ViewValue value;
  value.base_round = core_.view.base_round;
  for (const auto& [peer, committed] : a.agreed) {
    value.base_round = std::max(value.base_round, committed);
  }
  for (const Member& member : core_.view.members) {
    if (a.agreed.count(member.id) != 0) {
      value.members.push_back(member);
    } else {
      value.departures.push_back(
          {member.id, member.incarnation, DepartureCause::kFailed, "it was out of reach"});
    }
  }
  value.lineage = core_.view.lineage;
  value.lineage.points.push_back({branch_name(core_.options.run, core_.view.id, core_.options.self,
                                              core_.options.incarnation, a.number),
                                  core_.view.id, core_.sink.samples_after(value.base_round)});
  core_.balloting.decide(value);
}

// What a new view means for this peer's branch; `view` is installed already.
void Branching::follow_branch(const ViewChange& change) {
  core_.quorum.end_isolation();
  state_.branching.reset();
  state_.retired = false;
  state_.misses.clear();
  core_.former.clear_refuge();
  state_.agreed_until = core_.now;
  core_.former.follow_departures(change);
  if (!core_.merges()) return;
  if (state_.own_branch != core_.view.lineage.branch()) state_.own_views.clear();
  state_.own_branch = core_.view.lineage.branch();
  state_.own_views.insert(core_.view.id);
  if (state_.own_views.size() > kOwnViewsMax) state_.own_views.erase(state_.own_views.begin());
  core_.meetings.on_view();
}

void Branching::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
