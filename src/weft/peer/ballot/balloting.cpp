// How the members agree on the next view: ballots, from the first wish to the decided value.
#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/base/check.h"
#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

// The first proposer waits this long for further news, so that two deaths at once are one change.
constexpr Duration kGatherDelay = std::chrono::milliseconds(10);
// Where several may have the same news, each waits up to this before it proposes.
constexpr Duration kNewsJitter = std::chrono::milliseconds(50);
constexpr int kPositionMax = 4;
constexpr int kBackOffMax = 3;
Duration scaled(Duration duration, double factor) {
  return from_seconds(to_seconds(duration) * factor);
}
bool holds(const std::vector<Member>& members, const PeerId& peer) {
  return std::any_of(members.begin(), members.end(),
                     [&](const Member& member) { return member.id == peer; });
}

}  // namespace

void Balloting::hurry() { state_.own_news = core_.stirred = true; }

void Balloting::on_view() {
  const TimePoint frozen_last = state_.frozen_since;
  state_ = State();
  state_.frozen_since = frozen_last;
  state_.agreement.emplace(core_.view, core_.options.self);
}

void Balloting::stop() {
  state_.frozen = false;
  state_.propose_at = kNever;
}

void Balloting::end() {
  stop();
  state_.agreement.reset();
}

bool Balloting::stuck(Duration limit) const {
  return state_.frozen && core_.now - state_.frozen_since >= limit;
}

Round Balloting::committed_here() const {
  return std::max(core_.view.base_round, core_.sink.committed_round());
}

void Balloting::fingerprint(Fingerprint& out) const { out.add(state_); }

// In a view of two, one member may go on without the other's vote: the tie-breaker, whose own vote
// is then part of every quorum; the other one only if the tie-breaker is leaving, which gave up
// that right when it said so; either with lone_survivor.
bool Balloting::may_go_alone() const {
  if (core_.view.size() != 2 || core_.leaving) return core_.view.size() == 1;
  // A committed round that is missing here only the other one has.
  if (core_.sink.round_status().done < core_.view.base_round) return false;
  const auto& [peer, other] = *core_.watch.all().begin();
  if (!other.own && !other.gone) return false;
  // Alone it must have the state that the view begins with: no other could send it.
  const bool whole = core_.sink.round_status().done >= core_.view.base_round;
  const bool may = core_.options.lone_survivor ||
                   tie_breaker(core_.options.run, core_.view) == core_.options.self;
  if (may && whole) return true;
  return other.gone && other.gone->cause == DepartureCause::kLeft;
}

bool Balloting::wants_change() const {
  // Nothing follows that another view would be for.
  if (core_.ending.ended()) return false;
  if (state_.must_change || core_.meetings.wants_merge() ||
      (core_.newcomers.has_ready_joiner() && core_.sink.may_admit()))
    return true;
  const std::vector<Departure> out = core_.watch.departures();
  return !out.empty() && static_cast<int>(out.size()) < core_.view.size();
}

// How many members come before this one as proposers, `tried` not counted.
int Balloting::position(const PeerId& tried) const {
  int before = 0;
  for (const Member& member : core_.view.members) {
    if (member.id == core_.options.self) break;
    if (member.id == tried) continue;
    const Watched& seen = core_.watch.all().at(member.id);
    if (seen.linked && !seen.gone && core_.watch.reporters(seen) == 0) ++before;
  }
  return std::min(before, kPositionMax);
}

// Whether more news is likely to come soon: a member that is suspected, but not by enough; a joiner
// that has not caught up. Both are then dealt with in one change.
bool Balloting::more_to_come() const {
  const bool doubts =
      std::any_of(core_.watch.all().begin(), core_.watch.all().end(), [&](const auto& entry) {
        return !entry.second.gone && core_.watch.reporters(entry.second) == 1;
      });
  const bool syncing =
      std::any_of(core_.newcomers.joiners().begin(), core_.newcomers.joiners().end(),
                  [](const auto& entry) { return !entry.second.ready; });
  return core_.view.size() > 2 && (doubts || (syncing && core_.newcomers.has_ready_joiner()));
}

void Balloting::schedule_proposal() {
  if (state_.propose_at != kNever || state_.frozen || !core_.active() ||
      core_.branching.retired() || !wants_change())
    return;
  if (!state_.trouble_since) state_.trouble_since = core_.now;
  const int before = position();
  if (state_.own_news || core_.leaving) {
    state_.propose_at =
        core_.now + (before == 0 ? Duration() : scaled(kNewsJitter, core_.rng.uniform()));
  } else if (before == 0) {
    state_.propose_at = core_.now + kGatherDelay;
  } else {
    state_.propose_at =
        core_.now + scaled(core_.options.takeover_timeout, before + core_.rng.uniform());
  }
}

void Balloting::propose_when_due() {
  if (!core_.active() || core_.now < state_.propose_at) return;
  if (!state_.frozen && !wants_change()) {
    state_.propose_at = kNever;
    state_.trouble_since.reset();
    return;
  }
  const TimePoint gathered = *state_.trouble_since + core_.options.heartbeat_interval;
  if (!state_.frozen && core_.now < gathered && more_to_come()) {
    state_.propose_at = std::min(gathered, core_.now + kGatherDelay);
    return;
  }
  start_ballot();
}

void Balloting::start_ballot() {
  const double back_off = 1 << std::min(state_.ballots, kBackOffMax);
  state_.propose_at =
      core_.now + scaled(core_.options.takeover_timeout, back_off * (1 + core_.rng.uniform()));
  const bool alone = may_go_alone();
  if (core_.branching.retired() || (!alone && core_.watch.reachable() < core_.view.quorum()))
    return;
  ++state_.ballots;
  freeze();
  PrepareMessage message = state_.agreement->start(alone ? 1 : core_.view.quorum());
  message.bans = core_.bans.digest();
  const ViewId asked = core_.view.id;
  for (const auto& [peer, member] : core_.watch.all()) {
    if (member.linked) core_.send(peer, frame_type::kPrepare, message);
  }
  on_prepare(core_.options.self, message);
  WEFT_CHECK(alone || core_.view.id == asked);
}

ViewValue Balloting::fresh_value(Round base) const {
  ViewValue value;
  value.base_round = base;
  value.lineage = core_.view.lineage;
  value.departures = core_.watch.departures();
  value.members = next_members(core_.view, value.departures, core_.newcomers.newcomers());
  if (value.members.empty()) {
    value.departures.clear();
    value.members = core_.view.members;
  }
  // Whatever order the sink gives, the members are these.
  std::vector<Member> arranged = core_.sink.arrange(value.members);
  if (std::is_permutation(arranged.begin(), arranged.end(), value.members.begin(),
                          value.members.end())) {
    value.members = std::move(arranged);
  }
  core_.meetings.add_merge(value);
  value.links = core_.sink.links_of(value.members);
  return value;
}

void Balloting::freeze() {
  if (state_.frozen) return;
  state_.frozen = core_.stirred = true;
  state_.frozen_since = core_.now;
  // With the next heartbeat: a member that votes on an expulsion may have missed an accusation.
  core_.judgement.hurry_repetition();
  if (!state_.trouble_since) state_.trouble_since = core_.now;
  if (core_.state == MembershipState::kMember) core_.state = MembershipState::kChanging;
  core_.sink.on_freeze();
}

void Balloting::on_prepare(const PeerId& from, const PrepareMessage& message) {
  if (core_.past.is_past_matter(from, message.view)) return core_.past.vote_as_past(from, message);
  if (!core_.is_current(from, message.view) || core_.branching.retired()) return;
  freeze();
  // Before the promise: a value that is made from it must leave out the banned peers.
  core_.bans.send_bans(from, message.bans);
  const auto answer = state_.agreement->on_prepare(message, core_.sink.round_status());
  if (const auto* rejected = std::get_if<RejectedMessage>(&answer)) {
    core_.send(from, frame_type::kRejected, *rejected);
    return;
  }
  if (!core_.records.keep_record(true)) return;
  const auto& promise = std::get<PromiseMessage>(answer);
  if (from == core_.options.self) {
    on_promise(from, promise);
    return;
  }
  // Should this proposer fail, another one takes over.
  state_.propose_at =
      core_.now + scaled(core_.options.takeover_timeout, 1 + position(from) + core_.rng.uniform());
  send_promise(from, core_.view, promise);
}

void Balloting::send_promise(const PeerId& to, const View& view, PromiseMessage promise) {
  if (promise.accepted) {
    promise.difference = difference_to(core_.options.run, view, promise.accepted->value);
  }
  core_.send(to, frame_type::kPromise, promise);
}

void Balloting::on_promise(const PeerId& from, const PromiseMessage& message) {
  if (!core_.is_current(from, message.view) || core_.branching.retired()) return;
  if (from != core_.options.self && is_incredible(message)) return;
  if (!state_.agreement->on_promise(from, message)) return;
  const AcceptMessage accept =
      state_.agreement->propose(fresh_value(state_.agreement->fresh_base()));
  AcceptMessage brief{accept.view, accept.ballot, {}};
  brief.difference = difference_to(core_.options.run, core_.view, accept.value);
  for (const auto& [peer, member] : core_.watch.all()) {
    if (member.linked) core_.send(peer, frame_type::kAccept, brief);
  }
  on_accept(core_.options.self, accept);
}

void Balloting::on_accept(const PeerId& from, const AcceptMessage& message) {
  if (core_.past.is_past_matter(from, message.view)) return core_.past.vote_as_past(from, message);
  if (!core_.is_current(from, message.view) || core_.branching.retired()) return;
  freeze();
  if (refuses(from, message)) return;
  const auto answer = state_.agreement->on_accept(message);
  if (const auto* rejected = std::get_if<RejectedMessage>(&answer)) {
    core_.send(from, frame_type::kRejected, *rejected);
  } else if (!core_.records.keep_record(true)) {
    return;
  } else if (from == core_.options.self) {
    on_accepted(from, std::get<AcceptedMessage>(answer));
  } else {
    core_.send(from, frame_type::kAccepted, std::get<AcceptedMessage>(answer));
  }
}

void Balloting::on_accepted(const PeerId& from, const AcceptedMessage& message) {
  if (!core_.is_current(from, message.view) || !state_.agreement->on_accepted(from, message))
    return;
  decide(*state_.agreement->decided());
}

void Balloting::on_rejected(const PeerId& from, const RejectedMessage& message) {
  if (!core_.is_current(from, message.view) || !state_.agreement->on_rejected(message)) return;
  const double back_off = 1 << std::min(state_.ballots, kBackOffMax);
  state_.propose_at =
      core_.now + scaled(core_.options.takeover_timeout, back_off * (1 + core_.rng.uniform()));
}

// Those that were in the view get what changes. Newcomers get the whole: one of many may not know
// the view before, and their entry is not to wait for a question. So does a process that was
// started again, which may hold an earlier view.
void Balloting::decide(const ViewValue& value) {
  const ViewNoticeMessage next{core_.view.id, next_view_id(core_.options.run, core_.view.id, value),
                               value};
  const View before = core_.view;
  ViewNoticeMessage keyed = next;
  if (core_.keys.has_key()) keyed.key = core_.keys.run_key();
  ViewNoticeMessage brief{next.previous, next.view, {}};
  brief.difference = difference_to(core_.options.run, before, value);
  for (const Member& member : value.members) {
    const Member* known = before.find(member.id);
    const bool stays = known != nullptr && known->incarnation == member.incarnation;
    if (member.id != core_.options.self)
      core_.send(member.id, frame_type::kViewNotice, stays ? brief : keyed);
  }
  for (const Member& member : before.members) {
    const bool stays = std::any_of(value.members.begin(), value.members.end(),
                                   [&](const Member& m) { return m.id == member.id; });
    if (stays || member.id == core_.options.self) continue;
    const auto seen = core_.watch.all().find(member.id);
    const bool same_life = seen != core_.watch.all().end() && !seen->second.restarted();
    core_.send(member.id, frame_type::kViewNotice, same_life ? brief : next);
  }
  core_.evidence.on_notice(core_.options.self, next);
}

// Whether `peer` is a member in the value that this peer has accepted: it may have become one, and
// the members that informed it may be lost.
bool Balloting::has_accepted(const PeerId& peer) const {
  return state_.agreement && state_.agreement->accepted() &&
         holds(state_.agreement->accepted()->value.members, peer);
}

// Whether the notice has the value that this peer has voted for: then even a newcomer's notice is
// believed.
bool Balloting::is_accepted_value(const ViewNoticeMessage& message) const {
  return message.previous == core_.view.id && state_.agreement && state_.agreement->accepted() &&
         state_.agreement->accepted()->value == message.value;
}

}  // namespace weft
