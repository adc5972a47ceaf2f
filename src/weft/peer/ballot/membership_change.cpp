// How one view follows another: ballots, installation, leaving.
#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/base/check.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

// The first proposer waits so long for further news, so that two deaths at once are one change.
constexpr Duration kGatherDelay = std::chrono::milliseconds(10);
// Where several may have the same news, each waits up to this before it proposes.
constexpr Duration kNewsJitter = std::chrono::milliseconds(50);
constexpr int kPositionMax = 4;
constexpr int kBackOffMax = 3;
constexpr const char* kReasonUnknown = "reason not known here (views were missed)";
Duration scaled(Duration duration, double factor) {
  return from_seconds(to_seconds(duration) * factor);
}
bool holds(const std::vector<Member>& members, const PeerId& peer) {
  return std::any_of(members.begin(), members.end(),
                     [&](const Member& member) { return member.id == peer; });
}

}  // namespace

// In a view of two one member may go on without the other's vote: the tie-breaker, whose own vote
// is then part of every quorum; the other one only if the tie-breaker is leaving, which gave up
// that right when it said so; either with lone_survivor.
bool Membership::Core::may_go_alone() const {
  if (view.size() != 2 || leaving) return view.size() == 1;
  // A committed round that is missing here only the other one has.
  if (sink.round_status().done < view.base_round) return false;
  const auto& [peer, other] = *watch.all().begin();
  if (!other.own && !other.gone) return false;
  // Alone it must have what the view begins with: nobody could give it that.
  const bool whole = sink.round_status().done >= view.base_round;
  const bool may = options.lone_survivor || tie_breaker(options.run, view) == options.self;
  if (may && whole) return true;
  return other.gone && other.gone->cause == DepartureCause::kLeft;
}

bool Membership::Core::wants_change() const {
  // Nothing follows that another view would be for.
  if (ending.ended()) return false;
  if (must_change || meetings.wants_merge() || (newcomers.has_ready_joiner() && sink.may_admit()))
    return true;
  const std::vector<Departure> out = watch.departures();
  return !out.empty() && static_cast<int>(out.size()) < view.size();
}

// How many members come before this one as proposers, `tried` not counted.
int Membership::Core::position(const PeerId& tried) const {
  int before = 0;
  for (const Member& member : view.members) {
    if (member.id == options.self) break;
    if (member.id == tried) continue;
    const Watched& seen = watch.all().at(member.id);
    if (seen.linked && !seen.gone && watch.reporters(seen) == 0) ++before;
  }
  return std::min(before, kPositionMax);
}

// Whether more news is likely to come soon: a member that is suspected, but not by enough; a joiner
// that has not caught up. Both are then dealt with in one change.
bool Membership::Core::more_to_come() const {
  const bool doubts = std::any_of(watch.all().begin(), watch.all().end(), [&](const auto& entry) {
    return !entry.second.gone && watch.reporters(entry.second) == 1;
  });
  const bool syncing = std::any_of(newcomers.joiners().begin(), newcomers.joiners().end(),
                                   [](const auto& entry) { return !entry.second.ready; });
  return view.size() > 2 && (doubts || (syncing && newcomers.has_ready_joiner()));
}

void Membership::Core::schedule_proposal() {
  if (propose_at != kNever || frozen || !active() || branching.retired() || !wants_change()) return;
  if (!trouble_since) trouble_since = now;
  const int before = position();
  if (own_news || leaving) {
    propose_at = now + (before == 0 ? Duration() : scaled(kNewsJitter, rng.uniform()));
  } else if (before == 0) {
    propose_at = now + kGatherDelay;
  } else {
    propose_at = now + scaled(options.takeover_timeout, before + rng.uniform());
  }
}

void Membership::Core::propose_when_due() {
  if (!active() || now < propose_at) return;
  if (!frozen && !wants_change()) {
    propose_at = kNever;
    trouble_since.reset();
    return;
  }
  const TimePoint gathered = *trouble_since + options.heartbeat_interval;
  if (!frozen && now < gathered && more_to_come()) {
    propose_at = std::min(gathered, now + kGatherDelay);
    return;
  }
  start_ballot();
}

void Membership::Core::start_ballot() {
  const double back_off = 1 << std::min(ballots, kBackOffMax);
  propose_at = now + scaled(options.takeover_timeout, back_off * (1 + rng.uniform()));
  const bool alone = may_go_alone();
  if (branching.retired() || (!alone && watch.reachable() < view.quorum())) return;
  ++ballots;
  freeze();
  const PrepareMessage message = agreement->start(alone ? 1 : view.quorum());
  const ViewId asked = view.id;
  for (const auto& [peer, member] : watch.all()) {
    if (member.linked) send(peer, frame_type::kPrepare, message);
  }
  on_prepare(options.self, message);
  WEFT_CHECK(alone || view.id == asked);
}

ViewValue Membership::Core::fresh_value(Round base) const {
  ViewValue value;
  value.base_round = base;
  value.lineage = view.lineage;
  value.departures = watch.departures();
  value.members = next_members(view, value.departures, newcomers.newcomers());
  if (value.members.empty()) {
    value.departures.clear();
    value.members = view.members;
  }
  // Whatever the sink says, the members are these.
  std::vector<Member> arranged = sink.arrange(value.members);
  if (std::is_permutation(arranged.begin(), arranged.end(), value.members.begin(),
                          value.members.end())) {
    value.members = std::move(arranged);
  }
  meetings.add_merge(value);
  value.lines = sink.lines_of(value.members);
  return value;
}

void Membership::Core::freeze() {
  if (frozen) return;
  frozen = stirred = true;
  frozen_since = now;
  // With the next heartbeat: who votes on an expulsion may have missed a voice.
  judgement.hurry_retelling();
  if (!trouble_since) trouble_since = now;
  if (state == MembershipState::kMember) state = MembershipState::kChanging;
  sink.on_freeze();
}

void Membership::Core::on_prepare(const PeerId& from, const PrepareMessage& message) {
  if (past.is_past_matter(from, message.view)) return past.vote_as_past(from, message);
  if (!is_current(from, message.view) || branching.retired()) return;
  freeze();
  // Before the promise: a value that is made of it leaves out whoever is out of the run.
  bans.tell_bans(from);
  const auto answer = agreement->on_prepare(message, sink.round_status());
  if (const auto* rejected = std::get_if<RejectedMessage>(&answer)) {
    send(from, frame_type::kRejected, *rejected);
    return;
  }
  if (!records.keep_record(true)) return;
  const auto& promise = std::get<PromiseMessage>(answer);
  if (from == options.self) {
    on_promise(from, promise);
    return;
  }
  // Should this proposer fail, another one takes over.
  propose_at = now + scaled(options.takeover_timeout, 1 + position(from) + rng.uniform());
  send(from, frame_type::kPromise, promise);
}

void Membership::Core::on_promise(const PeerId& from, const PromiseMessage& message) {
  if (!is_current(from, message.view) || branching.retired()) return;
  if (from != options.self && is_incredible(message)) return;
  if (!agreement->on_promise(from, message)) return;
  const AcceptMessage accept = agreement->propose(fresh_value(agreement->fresh_base()));
  for (const auto& [peer, member] : watch.all()) {
    if (member.linked) send(peer, frame_type::kAccept, accept);
  }
  on_accept(options.self, accept);
}

void Membership::Core::on_accept(const PeerId& from, const AcceptMessage& message) {
  if (past.is_past_matter(from, message.view)) return past.vote_as_past(from, message);
  if (!is_current(from, message.view) || branching.retired()) return;
  freeze();
  if (refuses(from, message)) return;
  const auto answer = agreement->on_accept(message);
  if (const auto* rejected = std::get_if<RejectedMessage>(&answer)) {
    send(from, frame_type::kRejected, *rejected);
  } else if (!records.keep_record(true)) {
    return;
  } else if (from == options.self) {
    on_accepted(from, std::get<AcceptedMessage>(answer));
  } else {
    send(from, frame_type::kAccepted, std::get<AcceptedMessage>(answer));
  }
}

void Membership::Core::on_accepted(const PeerId& from, const AcceptedMessage& message) {
  if (!is_current(from, message.view) || !agreement->on_accepted(from, message)) return;
  decide(*agreement->decided());
}

void Membership::Core::on_rejected(const PeerId& from, const RejectedMessage& message) {
  if (!is_current(from, message.view) || !agreement->on_rejected(message)) return;
  const double back_off = 1 << std::min(ballots, kBackOffMax);
  propose_at = now + scaled(options.takeover_timeout, back_off * (1 + rng.uniform()));
}

void Membership::Core::decide(const ViewValue& value) {
  const ViewNoticeMessage next{view.id, next_view_id(options.run, view.id, value), value};
  const View before = view;
  ViewNoticeMessage keyed = next;
  if (keys.has_key()) keyed.key = keys.run_key();
  for (const Member& member : value.members) {
    const Member* known = before.find(member.id);
    const bool stays = known != nullptr && known->incarnation == member.incarnation;
    if (member.id != options.self) send(member.id, frame_type::kViewNotice, stays ? next : keyed);
  }
  for (const Member& member : before.members) {
    const bool stays = std::any_of(value.members.begin(), value.members.end(),
                                   [&](const Member& m) { return m.id == member.id; });
    if (!stays && member.id != options.self) send(member.id, frame_type::kViewNotice, next);
  }
  evidence.on_notice(options.self, next);
}

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
    for (const Departure& told : next.value.departures) {
      if (told.id == member.id) departure = told;
    }
    change.left.push_back(departure);
  }
  change.caught_up = next.previous != view.id;
  if (trouble_since) change.took = now - *trouble_since;
  return change;
}

void Membership::Core::install(const ViewNoticeMessage& next) {
  const ViewChange change = change_to(next);
  const View previous = view;
  const bool was_isolated = state == MembershipState::kIsolated;
  const bool was_outside = !active();
  notice = next;
  notice.key.reset();
  if (next.key) keys.learn_key(*next.key);
  evidence.clear();
  bans.on_view();
  view = view_of(next);
  records.on_view();
  state = MembershipState::kMember;
  agreement.emplace(view, options.self);
  frozen = false;
  own_news = must_change = false;
  trouble_since.reset();
  quorum.on_view();
  propose_at = kNever;
  ballots = 0;
  const std::set<PeerId> returned = former.returned_members();
  branching.follow_branch(change);
  joining.end();
  former.remember_departures(change);
  watch.rebuild_watch(previous, returned);
  watch.count_unlinked();
  stirred = true;
  // The links of peers that are no members any more last as long as a stranger's, and so do those
  // that came while this peer was none.
  links.tell_trusts();
  watch.choose_observers();
  judgement.take_verdicts(next, change);
  newcomers.on_view(previous.lineage);
  if (beat_at == kNever) beat_at = now + options.heartbeat_interval;
  past.end();
  records.keep_record(false);
  if (was_isolated) sink.on_quorum_back();
  sink.on_view(view, change);
  if (view.merge) meetings.tell_standings();
  for (const Member& member : change.joined) {
    if (!was_outside && merges()) former.tell_former(member.id);
  }
}

void Membership::Core::be_removed(const std::string& reason) {
  watch.clear();
  newcomers.clear();
  evidence.clear();
  agreement.reset();
  frozen = false;
  meetings.clear();
  branching.end();
  quorum.end_isolation();
  propose_at = kNever;
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
  tell_leaving();
}

void Membership::Core::tell_leaving() {
  for (const auto& [peer, member] : watch.all()) {
    if (member.linked) send(peer, frame_type::kLeaving, LeavingMessage{view.id});
  }
}

void Membership::Core::finish_leave() {
  state = MembershipState::kLeft;
  frozen = false;
  joining.end();
  propose_at = beat_at = leave_ends = kNever;
  sink.on_left();
}

// Whether `peer` is a member in the value that this peer has accepted: it may have become one, and
// those who told it so may be gone.
bool Membership::Core::has_accepted(const PeerId& peer) const {
  return agreement && agreement->accepted() && holds(agreement->accepted()->value.members, peer);
}

// Whether it tells of just what this peer has voted for: then a newcomer in it may say so, too.
bool Membership::Core::is_accepted_value(const ViewNoticeMessage& message) const {
  return message.previous == view.id && agreement && agreement->accepted() &&
         agreement->accepted()->value == message.value;
}

}  // namespace weft
