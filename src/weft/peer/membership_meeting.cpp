// Branches that meet: what they say to each other, which of them yields, and how they become one.
//
// Former members are dialled for ever, one at a time. Linked, the sides exchange their
// standings. The one that has learned less alone yields: a view change after which its members stop
// at the base round and offer its state. The others fetch that, agree on a view that carries a
// merge directive once all of them hold it, and average it in before the next round. Told of that,
// the members that yielded join as newcomers. A side that waits in vain goes on alone, and what was
// absorbed of it is remembered (lineage.h), so that nothing counts twice.
#include <algorithm>

#include "weft/peer/membership_core.h"

namespace weft {
namespace {

constexpr std::size_t kMeetingsMax = 8;
// What was said longer ago is not acted upon.
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

// --- Standings.

BranchTotal Membership::Core::total() const {
  const Round round = view.yields_to ? view.base_round : sink.round_status().done;
  return {view.lineage, sink.samples_after(std::max(round, view.base_round))};
}

StandingMessage Membership::Core::standing() const {
  StandingMessage message;
  message.current = notice;
  message.round = view.yields_to ? view.base_round : sink.round_status().done;
  message.samples = total().samples;
  if (view.yields_to) message.snapshot = offered_snapshot;
  return message;
}

void Membership::Core::tell_standing(const PeerId& to) {
  if (!merges() || !active()) return;
  show_key(to);
  if (state == MembershipState::kIsolated) return;
  if (links.count(to) != 0) send(to, frame_type::kStanding, standing());
}

// To those of other branches that have a link with this peer.
void Membership::Core::tell_standings() {
  for (const auto& [peer, link] : links) {
    if (!is_other_member(peer) && has_met(peer)) tell_standing(peer);
  }
}

bool Membership::Core::in_meeting(const PeerId& peer) const {
  return std::any_of(meetings.begin(), meetings.end(), [&](const auto& entry) {
    const auto& members = entry.second.standing.current.value.members;
    return std::any_of(members.begin(), members.end(),
                       [&](const Member& member) { return member.id == peer; });
  });
}

void Membership::Core::on_standing(const PeerId& from, const StandingMessage& message) {
  const ViewNoticeMessage& current = message.current;
  if (next_view_id(options.run, current.previous, current.value) != current.view) {
    sink.close(from, corrupt("standing: the view's hash does not match its members"));
    return;
  }
  // A joiner's sponsor has come to another branch, and forgotten the joiner over that.
  if (has_sponsor(from) && current.value.lineage.branch() != attempt->known.lineage.branch()) {
    ask_sponsor_again();
    return;
  }
  if (!merges() || !active()) return;
  // Who was a member once may have lost that right since: the key says whether it has.
  if (!is_other_member(from) && !(has_met(from) && key_shown.count(from) != 0)) return;
  const Lineage& theirs = current.value.lineage;
  if (theirs.branch() == view.lineage.branch()) {
    if (current.view > view.id) on_notice(from, current);
    return;
  }
  const View their_view = view_of(current);
  if (their_view.contains(options.self)) {
    on_notice(from, current);
    return;
  }
  const auto seen = watched.find(from);
  if (seen != watched.end() && !seen->second.gone && their_view.contains(from)) {
    seen->second.gone = Departure{from, view.find(from)->incarnation, DepartureCause::kFailed,
                                  "it went on in another branch"};
    own_news = stirred = true;
  }
  const bool yielded = view.yields_to == theirs.branch() &&
                       has_absorbed(theirs, view.lineage.branch(), total().samples);
  // Without a quorum, and nothing learned since they left: nothing is lost by following them.
  const std::size_t depth = view.lineage.points.size();
  const bool left_behind = state == MembershipState::kIsolated && theirs.points.size() > depth &&
                           theirs.points[depth].from == view.id;
  // What this peer's branch has learned it has not: alone it can go on with nothing.
  const bool empty_handed = state == MembershipState::kIsolated && !holds_base() &&
                            isolated_since && now - *isolated_since >= options.split_after;
  if (yielded || left_behind || empty_handed) {
    be_absorbed(message);
  } else if (state != MembershipState::kIsolated) {
    meet(from, message);
  }
}

void Membership::Core::meet(const PeerId& from, const StandingMessage& message) {
  const Hash256 branch = message.current.value.lineage.branch();
  auto found = meetings.find(branch);
  if (found == meetings.end()) {
    if (meetings.size() >= kMeetingsMax) return;
    found = meetings.emplace(branch, Meeting{message, now, now, false, false, {}}).first;
  } else if (older(message, found->second.standing)) {
    if (message.current.view == found->second.standing.current.view) found->second.heard = now;
    return;
  }
  Meeting& meeting = found->second;
  const bool news = meeting.since == now || message.snapshot != meeting.standing.snapshot ||
                    message.current.view != meeting.standing.current.view;
  if (message.snapshot != meeting.standing.snapshot) {
    meeting.offered = meeting.ready = false;
    meeting.holders.clear();
  }
  meeting.standing = message;
  meeting.heard = now;
  if ((news || yields_to_us(meeting)) && !is_other_member(from)) {
    for (const auto& [peer, member] : watched) {
      if (member.linked) send(peer, frame_type::kStanding, message);
    }
  }
  if (yields_to_us(meeting) && !meeting.offered) {
    meeting.offered = true;
    for (const Member& member : message.current.value.members) {
      if (!is_other_member(member.id)) remember_former(member);
    }
    sink.on_merge_offer({branch, view_of(message.current), *message.snapshot});
  }
  if (wants_merge()) own_news = stirred = true;
}

// This peer's branch has no future of its own: its members join the other one.
void Membership::Core::be_absorbed(const StandingMessage& by) {
  for (const auto& [peer, member] : watched) {
    if (member.linked) send(peer, frame_type::kStanding, by);
  }
  std::vector<PeerAddress> members;
  for (const Member& member : by.current.value.members) {
    if (!member.endpoints.empty()) members.push_back({member.id, member.endpoints});
  }
  refuge = std::move(members);
  be_removed("its branch became one with a larger one");
}

// --- Who absorbs whom.

bool Membership::Core::yields_to_us(const Meeting& other) const {
  const StandingMessage& said = other.standing;
  return said.snapshot && said.current.value.yields_to == view.lineage.branch() &&
         !has_absorbed(view.lineage, said.current.value.lineage.branch(), said.samples);
}

// Whether this side should yield. The other one's counter is as of its last word and this one's as
// of now, so both cannot come to think so but by their names.
bool Membership::Core::absorbs_us(const Hash256& branch, const Meeting& other) const {
  const StandingMessage& said = other.standing;
  if (now - other.heard > kFresh) return false;
  const Hash256 self = view.lineage.branch();
  // Who waits for a third one, or for this one, absorbs nobody.
  if (said.current.value.yields_to) return false;
  const Divergence apart = divergence(total(), {said.current.value.lineage, said.samples});
  if (apart.second > apart.first) return true;
  // Nearly equal, and each may have outrun the other's last word.
  const bool close = apart.first - apart.second <= apart.first / kCloseShare;
  const bool undecided = close && now - other.since > kUndecided;
  return branch < self && (apart.second == apart.first || undecided);
}

std::optional<Hash256> Membership::Core::absorber() const {
  if (view.yields_to || now < yield_again_at || leaving) return std::nullopt;
  // Who is being given somebody's state takes that first.
  for (const auto& [branch, other] : meetings) {
    if (yields_to_us(other) && now - other.heard <= kFresh) return std::nullopt;
  }
  for (const auto& [branch, other] : meetings) {
    if (absorbs_us(branch, other)) return branch;
  }
  return std::nullopt;
}

const Meeting* Membership::Core::mergeable() const {
  if (view.yields_to) return nullptr;
  for (const auto& [branch, other] : meetings) {
    if (!yields_to_us(other) || !other.ready) continue;
    // Should a few die right after, the others can still do what was agreed.
    const bool all =
        std::all_of(watched.begin(), watched.end(), [&, &o = other](const auto& entry) {
          const Watched& member = entry.second;
          return !member.linked || member.own || member.gone || o.holders.count(entry.first) != 0;
        });
    if (all) return &other;
  }
  return nullptr;
}

// Whether this side has yielded in vain.
bool Membership::Core::resumes() const {
  if (!view.yields_to) return false;
  if (now - yielding_since >= options.merge_timeout) return true;
  const auto other = meetings.find(*view.yields_to);
  if (other == meetings.end()) return false;
  const std::optional<Hash256>& theirs = other->second.standing.current.value.yields_to;
  // It waits for a third one; or both wait for each other.
  if (theirs && theirs != view.lineage.branch()) return true;
  return theirs && view.lineage.branch() < *view.yields_to;
}

bool Membership::Core::wants_merge() const {
  if (!merges() || state == MembershipState::kIsolated) return false;
  return absorber().has_value() || mergeable() != nullptr || resumes();
}

// To a fresh value, whose base round is known.
void Membership::Core::add_merge(ViewValue& value) const {
  if (!merges()) return;
  if (view.yields_to && !resumes()) value.yields_to = view.yields_to;
  if (!value.yields_to) value.yields_to = absorber();
  const Meeting* other = value.yields_to ? nullptr : mergeable();
  if (other == nullptr) return;
  const StandingMessage& said = other->standing;
  const BranchTotal own{view.lineage, sink.samples_after(value.base_round)};
  const BranchTotal theirs{said.current.value.lineage, said.samples};
  const Divergence apart = divergence(own, theirs);
  value.lineage = absorb(own, theirs);
  // A newcomer's state lacks what is averaged in here: it comes in with a later view.
  std::erase_if(value.members, [&](const Member& member) {
    const Member* before = view.find(member.id);
    return before == nullptr || before->incarnation != member.incarnation;
  });
  value.merge = MergeDirective{theirs.lineage.branch(), said.current.view, said.round,
                               *said.snapshot,          apart.second,      apart.first};
}

// --- Once a heartbeat interval, and what the driver says.

void Membership::Core::branch_beat() {
  dial_former();
  tell_former();
  if (beats % kBeatsPerStanding == 0) tell_standings();
  if (beats % kBeatsPerStanding == 0) tell_have();
  for (auto it = meetings.begin(); it != meetings.end();) {
    const bool old = now - it->second.heard > options.merge_timeout;
    it = old ? meetings.erase(it) : std::next(it);
  }
  if (resumes()) yield_again_at = now + kUndecided;
  if (!frozen && wants_merge()) own_news = true;
}

void Membership::Core::offer_state(const Hash256& snapshot) {
  if (!active() || !view.yields_to) return;
  offered_snapshot = snapshot;
  tell_standings();
}

void Membership::Core::merge_ready(const Hash256& snapshot) {
  for (auto& [branch, meeting] : meetings) {
    if (meeting.standing.snapshot == snapshot) meeting.ready = true;
  }
  tell_have();
  if (wants_merge()) own_news = stirred = true;
}

// To fellow members: which offered states are here.
void Membership::Core::tell_have() {
  for (const auto& [branch, meeting] : meetings) {
    if (!meeting.ready || !yields_to_us(meeting)) continue;
    const BranchMessage have{view.id, 0, BranchStep::kHave, {}, *meeting.standing.snapshot, {}};
    for (const auto& [peer, member] : watched) {
      if (member.linked) send(peer, frame_type::kBranch, have);
    }
  }
}

}  // namespace weft
