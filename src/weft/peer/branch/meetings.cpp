// Branches that meet: the messages between them, which of them yields, and how they merge.
//
// Former members are dialled for ever, one at a time. Linked, the sides exchange their
// standings. The one that has learned less alone yields: a view change after which its members stop
// at the base round and offer its state. The others fetch that, agree on a view that carries a
// merge directive once all of them hold it, and average it in before the next round. Told of that,
// the members that yielded join as newcomers. A side that waits in vain goes on alone, and what was
// absorbed of it is remembered (lineage.h), so that nothing counts twice.
#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

constexpr std::size_t kMeetingsMax = 8;
// Older messages are not acted upon.
constexpr Duration kFresh = std::chrono::seconds(5);
// Two sides that each think to be the larger one, by less than this part, settle it by their names
// after this time.
constexpr Duration kUndecided = std::chrono::seconds(5);
constexpr std::uint64_t kCloseShare = 8;
constexpr int kBeatsPerStanding = 4;
// What others pass on may be older than what is known.
bool older(const StandingMessage& news, const StandingMessage& known) {
  if (news.current.view != known.current.view) return news.current.view < known.current.view;
  return news.samples < known.samples || (known.snapshot && !news.snapshot);
}

}  // namespace

BranchTotal Meetings::total() const {
  const Round round = core_.view.yields_to ? core_.view.base_round : core_.sink.round_status().done;
  return {core_.view.lineage, core_.sink.samples_after(std::max(round, core_.view.base_round))};
}

StandingMessage Meetings::standing() const {
  StandingMessage message;
  message.current = core_.notice;
  message.round = core_.view.yields_to ? core_.view.base_round : core_.sink.round_status().done;
  message.samples = total().samples;
  if (core_.view.yields_to) message.snapshot = state_.offered_snapshot;
  return message;
}

void Meetings::send_standing(const PeerId& to) {
  if (!core_.merges() || !core_.active()) return;
  core_.keys.show_key(to);
  if (core_.state == MembershipState::kIsolated) return;
  if (core_.links.up(to)) core_.send(to, frame_type::kStanding, standing());
}

// To those of other branches that have a link with this peer.
void Meetings::send_standings() {
  for (const auto& [peer, link] : core_.links.all()) {
    if (!core_.is_other_member(peer) && core_.former.has_met(peer)) send_standing(peer);
  }
}

bool Meetings::in_meeting(const PeerId& peer) const {
  return std::any_of(state_.meetings.begin(), state_.meetings.end(), [&](const auto& entry) {
    const auto& members = entry.second.standing.current.value.members;
    return std::any_of(members.begin(), members.end(),
                       [&](const Member& member) { return member.id == peer; });
  });
}

void Meetings::on_standing(const PeerId& from, const StandingMessage& message) {
  const ViewNoticeMessage& current = message.current;
  if (next_view_id(core_.options.run, current.previous, current.value) != current.view) {
    core_.sink.close(from, corrupt("standing: the view's hash does not match its members"));
    return;
  }
  // A joiner's sponsor has come to another branch, and forgotten the joiner over that.
  if (core_.joining.has_sponsor(from) &&
      current.value.lineage.branch() != core_.joining.attempt()->known.lineage.branch()) {
    core_.joining.ask_sponsor_again();
    return;
  }
  if (!core_.merges() || !core_.active()) return;
  // A former member may have lost that right since: the key shows whether it has.
  if (!core_.is_other_member(from) &&
      !(core_.former.has_met(from) && core_.keys.key_shown().count(from) != 0))
    return;
  const Lineage& theirs = current.value.lineage;
  if (theirs.branch() == core_.view.lineage.branch()) {
    if (current.view > core_.view.id) core_.evidence.on_notice(from, current);
    return;
  }
  const View their_view = view_of(current);
  if (their_view.contains(core_.options.self)) {
    core_.evidence.on_notice(from, current);
    return;
  }
  const auto seen = core_.watch.all().find(from);
  if (seen != core_.watch.all().end() && !seen->second.gone && their_view.contains(from)) {
    core_.watch.put_out(from, Departure{from, core_.view.find(from)->incarnation,
                                        DepartureCause::kFailed, "it went on in another branch"});
  }
  const bool yielded = core_.view.yields_to == theirs.branch() &&
                       has_absorbed(theirs, core_.view.lineage.branch(), total().samples);
  // Without a quorum, and nothing learned since they left: nothing is lost by following them.
  const std::size_t depth = core_.view.lineage.points.size();
  const bool left_behind = core_.state == MembershipState::kIsolated &&
                           theirs.points.size() > depth &&
                           theirs.points[depth].from == core_.view.id;
  // What this peer's branch has learned it has not: alone it can go on with nothing.
  const bool empty_handed = core_.state == MembershipState::kIsolated &&
                            !core_.branching.holds_base() && core_.quorum.isolated_since() &&
                            core_.now - *core_.quorum.isolated_since() >= core_.options.split_after;
  if (yielded || left_behind || empty_handed) {
    be_absorbed(message);
  } else if (core_.state != MembershipState::kIsolated) {
    meet(from, message);
  }
}

void Meetings::meet(const PeerId& from, const StandingMessage& message) {
  const Hash256 branch = message.current.value.lineage.branch();
  auto found = state_.meetings.find(branch);
  if (found == state_.meetings.end()) {
    if (state_.meetings.size() >= kMeetingsMax) return;
    found =
        state_.meetings.emplace(branch, Meeting{message, core_.now, core_.now, false, false, {}})
            .first;
  } else if (older(message, found->second.standing)) {
    if (message.current.view == found->second.standing.current.view)
      found->second.seen_at = core_.now;
    return;
  }
  Meeting& meeting = found->second;
  const bool news = meeting.since == core_.now || message.snapshot != meeting.standing.snapshot ||
                    message.current.view != meeting.standing.current.view;
  if (message.snapshot != meeting.standing.snapshot) {
    meeting.offered = meeting.ready = false;
    meeting.holders.clear();
  }
  meeting.standing = message;
  meeting.seen_at = core_.now;
  if ((news || yields_to_us(meeting)) && !core_.is_other_member(from)) {
    for (const auto& [peer, member] : core_.watch.all()) {
      if (member.linked) core_.send(peer, frame_type::kStanding, message);
    }
  }
  if (yields_to_us(meeting) && !meeting.offered) {
    meeting.offered = true;
    for (const Member& member : message.current.value.members) {
      if (!core_.is_other_member(member.id)) core_.former.remember_former(member);
    }
    core_.sink.on_merge_offer({branch, view_of(message.current), *message.snapshot});
  }
  if (wants_merge()) core_.balloting.hurry();
}

// This peer's branch has no future of its own: its members join the other one.
void Meetings::be_absorbed(const StandingMessage& by) {
  for (const auto& [peer, member] : core_.watch.all()) {
    if (member.linked) core_.send(peer, frame_type::kStanding, by);
  }
  std::vector<PeerAddress> members;
  for (const Member& member : by.current.value.members) {
    if (!member.endpoints.empty()) members.push_back({member.id, member.endpoints});
  }
  core_.former.set_refuge(std::move(members));
  core_.be_removed("its branch became one with a larger one");
}

void Meetings::note_holder(const PeerId& holder, const Hash256& snapshot) {
  for (auto& [branch, meeting] : state_.meetings) {
    if (meeting.standing.snapshot == snapshot) meeting.holders.insert(holder);
  }
}

void Meetings::on_view() {
  const View& view = core_.view;
  if (view.merge) state_.meetings.erase(view.merge->branch);
  for (auto& [branch, meeting] : state_.meetings) {
    meeting.offered = meeting.offered && meeting.ready;
  }
  if (view.yields_to && state_.yielding_to != view.yields_to) state_.yielding_since = core_.now;
  state_.yielding_to = view.yields_to;
  // A new view's base round may be a later one, and a newcomer has offered another branch's state.
  state_.offered_snapshot.reset();
}

bool Meetings::yields_to_us(const Meeting& other) const {
  const StandingMessage& said = other.standing;
  return said.snapshot && said.current.value.yields_to == core_.view.lineage.branch() &&
         !has_absorbed(core_.view.lineage, said.current.value.lineage.branch(), said.samples);
}

// Whether this side should yield. The other side's counter is as of its last message and this one's
// as of now, so both sides can decide so only by their names.
bool Meetings::absorbs_us(const Hash256& branch, const Meeting& other) const {
  const StandingMessage& said = other.standing;
  if (core_.now - other.seen_at > kFresh) return false;
  const Hash256 self = core_.view.lineage.branch();
  // A branch that waits for a third one, or for this one, absorbs none.
  if (said.current.value.yields_to) return false;
  const Divergence apart = divergence(total(), {said.current.value.lineage, said.samples});
  if (apart.second > apart.first) return true;
  // Nearly equal, and each may have outrun the other's last message.
  const bool close = apart.first - apart.second <= apart.first / kCloseShare;
  const bool undecided = close && core_.now - other.since > kUndecided;
  return branch < self && (apart.second == apart.first || undecided);
}

std::optional<Hash256> Meetings::absorber() const {
  if (core_.view.yields_to || core_.now < state_.yield_again_at || core_.leaving)
    return std::nullopt;
  // A branch that is receiving another one's state takes that first.
  for (const auto& [branch, other] : state_.meetings) {
    if (yields_to_us(other) && core_.now - other.seen_at <= kFresh) return std::nullopt;
  }
  for (const auto& [branch, other] : state_.meetings) {
    if (absorbs_us(branch, other)) return branch;
  }
  return std::nullopt;
}

const Meeting* Meetings::mergeable() const {
  if (core_.view.yields_to) return nullptr;
  for (const auto& [branch, other] : state_.meetings) {
    if (!yields_to_us(other) || !other.ready) continue;
    // Should a few die right after, the others can still do what was agreed.
    const bool all = std::all_of(
        core_.watch.all().begin(), core_.watch.all().end(), [&, &o = other](const auto& entry) {
          const Watched& member = entry.second;
          return !member.linked || member.own || member.gone || o.holders.count(entry.first) != 0;
        });
    if (all) return &other;
  }
  return nullptr;
}

// Whether this side has yielded in vain.
bool Meetings::resumes() const {
  if (!core_.view.yields_to) return false;
  if (core_.now - state_.yielding_since >= core_.options.merge_timeout) return true;
  const auto other = state_.meetings.find(*core_.view.yields_to);
  if (other == state_.meetings.end()) return false;
  const std::optional<Hash256>& theirs = other->second.standing.current.value.yields_to;
  // It waits for a third one; or both wait for each other.
  if (theirs && theirs != core_.view.lineage.branch()) return true;
  return theirs && core_.view.lineage.branch() < *core_.view.yields_to;
}

bool Meetings::wants_merge() const {
  if (!core_.merges() || core_.state == MembershipState::kIsolated) return false;
  return absorber().has_value() || mergeable() != nullptr || resumes();
}

// To a fresh value, whose base round is known.
void Meetings::add_merge(ViewValue& value) const {
  if (!core_.merges()) return;
  if (core_.view.yields_to && !resumes()) value.yields_to = core_.view.yields_to;
  if (!value.yields_to) value.yields_to = absorber();
  const Meeting* other = value.yields_to ? nullptr : mergeable();
  if (other == nullptr) return;
  const StandingMessage& said = other->standing;
  const BranchTotal own{core_.view.lineage, core_.sink.samples_after(value.base_round)};
  const BranchTotal theirs{said.current.value.lineage, said.samples};
  const Divergence apart = divergence(own, theirs);
  value.lineage = absorb(own, theirs);
  // A newcomer's state lacks what is averaged in here: it comes in with a later view.
  std::erase_if(value.members, [&](const Member& member) {
    const Member* before = core_.view.find(member.id);
    return before == nullptr || before->incarnation != member.incarnation;
  });
  value.merge = MergeDirective{theirs.lineage.branch(), said.current.view, said.round,
                               *said.snapshot,          apart.second,      apart.first};
}

void Meetings::branch_beat() {
  core_.former.dial_former();
  core_.former.announce_former();
  if (core_.beats % kBeatsPerStanding == 0) send_standings();
  if (core_.beats % kBeatsPerStanding == 0) announce_have();
  for (auto it = state_.meetings.begin(); it != state_.meetings.end();) {
    const bool old = core_.now - it->second.seen_at > core_.options.merge_timeout;
    it = old ? state_.meetings.erase(it) : std::next(it);
  }
  if (resumes()) state_.yield_again_at = core_.now + kUndecided;
  if (!core_.balloting.frozen() && wants_merge()) core_.balloting.note_own_news();
}

void Meetings::offer_state(const Hash256& snapshot) {
  if (!core_.active() || !core_.view.yields_to) return;
  state_.offered_snapshot = snapshot;
  send_standings();
}

void Meetings::merge_ready(const Hash256& snapshot) {
  for (auto& [branch, meeting] : state_.meetings) {
    if (meeting.standing.snapshot == snapshot) meeting.ready = true;
  }
  announce_have();
  if (wants_merge()) core_.balloting.hurry();
}

// To fellow members: which offered states are here.
void Meetings::announce_have() {
  for (const auto& [branch, meeting] : state_.meetings) {
    if (!meeting.ready || !yields_to_us(meeting)) continue;
    const BranchMessage have{
        core_.view.id, 0, BranchStep::kHave, {}, *meeting.standing.snapshot, {}};
    for (const auto& [peer, member] : core_.watch.all()) {
      if (member.linked) core_.send(peer, frame_type::kBranch, have);
    }
  }
}

void Meetings::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
