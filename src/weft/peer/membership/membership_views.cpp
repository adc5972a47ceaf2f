// What a view that is installed, lost or left means for each part.
#include <algorithm>
#include <set>

#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

constexpr const char* kReasonUnknown = "reason not known here (views were missed)";

}  // namespace

ViewChange Membership::Core::change_to(const ViewNoticeMessage& next) const {
  ViewChange change;
  const std::vector<Member>& members = next.value.members;
  const auto same = [](const std::vector<Member>& list, const Member& member) {
    return std::any_of(list.begin(), list.end(), [&](const Member& m) {
      return m.id == member.id && m.incarnation == member.incarnation;
    });
  };
  for (const Member& member : members) {
    if (!same(view.members, member)) change.joined.push_back(member);
  }
  for (const Member& member : view.members) {
    if (same(members, member)) continue;
    Departure departure{member.id, member.incarnation, DepartureCause::kFailed, kReasonUnknown};
    for (const Departure& named : next.value.departures) {
      if (named.id == member.id) departure = named;
    }
    change.left.push_back(departure);
  }
  change.caught_up = next.previous != view.id;
  if (balloting.trouble_since()) change.took = now - *balloting.trouble_since();
  return change;
}

void Membership::Core::install(const ViewNoticeMessage& next) {
  const ViewChange change = change_to(next);
  const View previous = view;
  const bool was_isolated = state == MembershipState::kIsolated;
  const bool was_outside = !active();
  // The view before is another one where views were missed.
  step.reset();
  if (view.id == next.previous && !view.members.empty()) {
    step = difference_to(options.run, view, next.value);
  }
  notice = next;
  notice.key.reset();
  if (next.key) keys.learn_key(*next.key);
  evidence.clear();
  bans.on_view();
  view = view_of(next);
  records.on_view();
  state = MembershipState::kMember;
  balloting.on_view();
  quorum.on_view();
  const std::set<PeerId> returned = former.returned_members();
  branching.follow_branch(change);
  joining.end();
  former.remember_departures(change);
  watch.rebuild_watch(previous, returned);
  watch.count_unlinked();
  stirred = true;
  // The links of peers that are no members any more last as long as a stranger's, and so do those
  // that came while this peer was none.
  links.report_trusts();
  watch.choose_observers();
  judgement.take_verdicts(next, change);
  newcomers.on_view(previous.lineage);
  if (beat_at == kNever) beat_at = now + options.heartbeat_interval;
  past.end();
  records.keep_record(false);
  if (was_isolated) sink.on_quorum_back();
  sink.on_view(view, change);
  if (view.merge) meetings.send_standings();
  for (const Member& member : change.joined) {
    if (!was_outside && merges()) former.announce_former(member.id);
  }
}

void Membership::Core::be_removed(const std::string& reason) {
  watch.clear();
  newcomers.clear();
  evidence.clear();
  balloting.end();
  meetings.clear();
  branching.end();
  quorum.end_isolation();
  beat_at = kNever;
  if (leaving) {
    finish_leave();
    return;
  }
  state = MembershipState::kRemoved;
  stirred = true;
  sink.on_removed(unavailable("the other members went on without this one: " + reason));
}

void Membership::Core::leave() {
  if (leaving || state == MembershipState::kLeft) return;
  leaving = true;
  leave_ends = now + options.leave_timeout;
  if (!active() || view.size() == 1) {
    finish_leave();
    return;
  }
  announce_leaving();
}

void Membership::Core::announce_leaving() {
  for (const auto& [peer, member] : watch.all()) {
    if (member.linked) send(peer, frame_type::kLeaving, LeavingMessage{view.id});
  }
}

void Membership::Core::finish_leave() {
  state = MembershipState::kLeft;
  balloting.stop();
  joining.end();
  beat_at = leave_ends = kNever;
  sink.on_left();
}

}  // namespace weft
