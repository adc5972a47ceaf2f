#include "weft/collective/parts/state_giving.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/state_message.h"

namespace weft {

static bool is_round_data(std::uint8_t type) {
  return type == frame_type::kSegment || type == frame_type::kGroupSegment;
}

// --- The training side.

void StateGiving::publish(Round round, Bytes state) {
  const Bytes history = core_.branches.history();
  state.insert(state.begin(), history.begin(), history.end());
  publish(make_state_snapshot(round, std::move(state)));
}

void StateGiving::publish(StateSnapshot snapshot) {
  state_.publishing = false;
  if (keep(snapshot)) core_.server.publish(std::move(snapshot), core_.now());
}

bool StateGiving::keep(const StateSnapshot& snapshot) {
  if (!core_.merges()) return true;
  const Bytes history = core_.branches.history();
  const ByteSpan state = snapshot.state.span();
  const bool own =
      state.size() >= history.size() && std::ranges::equal(state.first(history.size()), history);
  if (state_.published == snapshot.name.round) {
    state_.root = snapshot.name.root;
    if (!own) forget();
  }
  return own;
}

void StateGiving::miss() {
  state_.publishing = false;
  state_.published = core_.server.newest_snapshot();
}

// --- Snapshots.

bool StateGiving::wanted() const { return core_.server.wanted() && !state_.publishing; }

bool StateGiving::wants_own() const {
  const bool wanted = core_.server.wanted() || core_.branches.must_offer();
  return wanted && !state_.publishing && state_.published != core_.trainer.round();
}

Turn StateGiving::order(Round round) {
  state_.published = round;
  state_.root.reset();
  state_.publishing = true;
  Turn turn = core_.trainer.make_turn(TurnKind::kSnapshot, round);
  if (core_.merges()) turn.state = SharedBytes(core_.branches.history());
  return turn;
}

Round StateGiving::first_needed(Round latest) const {
  const std::optional<Round> snapshot = core_.server.oldest_snapshot();
  const Round first = snapshot ? snapshot->next() : latest;
  return state_.publishing ? std::min(first, state_.published->next()) : first;
}

void StateGiving::forget() {
  core_.server.forget_all();
  state_.published.reset();
  state_.root.reset();
}

void StateGiving::drop_unused() {
  const bool unwanted = !state_.publishing && !core_.server.wanted() && !core_.view().yields_to;
  if (!state_.joiners.empty() || !state_.published || !unwanted) return;
  core_.server.forget_unused(core_.now());
  if (!core_.server.newest_snapshot()) state_.published.reset();
}

// --- Takers.

void StateGiving::on_joiner(const Member& joiner) {
  state_.joiners.insert(joiner.id);
  core_.gathering.send_taken(joiner.id);
  core_.news
      .report(SwarmEventKind::kJoinerSyncing,
              fmt::format("peer {} takes the state", joiner.id.short_name()))
      .peer = joiner.id;
}

void StateGiving::on_admitted(const PeerId& joiner) {
  state_.joiners.erase(joiner);
  state_.hold.forget(joiner);
}

void StateGiving::on_joiner_gone(const PeerId& joiner, const Status& why) {
  on_admitted(joiner);
  core_.news
      .report(SwarmEventKind::kLinkRefused,
              fmt::format("joiner {} is gone: {}", joiner.short_name(), why.message()))
      .peer = joiner;
}

Status StateGiving::on_request(const PeerId& from, const FrameView& frame) {
  // Only ticket holders get it, from members, and members from one that returns with a newer state.
  Membership& membership = core_.membership;
  const bool to_joiner = core_.is_member() && membership.role(from) != PeerRole::kStranger;
  const bool to_founder =
      !core_.is_member() && core_.offer.holds() && core_.way.sync_view().contains(from);
  if (!to_joiner && !to_founder) return {};
  membership.on_sign_of_life(from, core_.now());
  if (state_.joiners.contains(from)) note_request(from, frame);
  return core_.server.on_frame(from, frame, core_.view().contains(from), core_.now());
}

// --- Rounds that are held back.

void StateGiving::note_request(const PeerId& joiner, const FrameView& frame) {
  if (frame.type == frame_type::kStateQuery) state_.hold.on_query(joiner, core_.now());
  if (frame.type == frame_type::kBlockRequest) state_.hold.on_block_request(joiner, core_.now());
  if (frame.type != frame_type::kResultRequest) return;
  const Result<ResultRequestMessage> asked = ResultRequestMessage::decode(frame.head);
  if (!asked.ok()) return;
  state_.hold.on_result_request(joiner, asked->round, core_.rounds.committed(), core_.now());
}

// One member of the view decides, so that there is one budget.
bool StateGiving::decides_holds() const {
  if (!core_.is_member()) return false;
  return std::ranges::min(core_.view().members, {}, &Member::id).id == core_.self();
}

void StateGiving::settle_hold() {
  if (state_.hold.empty() && state_.held_for.empty()) return;
  const Round committed = core_.rounds.committed();
  if (!core_.membership.newcomer_ready()) {
    state_.ready_after.reset();
  } else if (!state_.ready_after) {
    state_.ready_after = committed;
  }
  // The others have begun: they need no part of this member, or admit the newcomer after the round.
  const bool pressed = core_.rounds.begun_elsewhere(committed.next()) &&
                       (core_.late.may_be_late() || state_.ready_after == committed);
  const bool between = core_.trainer.requested() && !core_.rounds.open();
  const auto* const last = core_.log.find(core_.log.newest());
  const std::size_t elements = last ? std::as_const(*last->values).span().size() : 0;
  state_.hold.settle({committed, between && !pressed && decides_holds(),
                      core_.waits.limit(static_cast<std::int64_t>(elements)), core_.now()});
  report_hold();
}

void StateGiving::report_hold() {
  std::vector<PeerId> names = state_.hold.waited_for();
  const bool begins = state_.held_for.empty() && state_.hold.holds();
  const bool ends = !state_.held_for.empty() && names.empty();
  if (!begins && !ends) return;
  const Round next = core_.rounds.committed().next();
  const std::vector<PeerId> before = std::exchange(state_.held_for, std::move(names));
  if (begins) {
    state_.held_since = core_.now();
    const double limit = to_seconds(state_.hold.budget());
    SwarmEvent& event = core_.news.report(
        SwarmEventKind::kWaiting,
        fmt::format("round {} waits until {} has caught up, which is slower than the rounds; at "
                    "most for {:.0f} s",
                    next.value(), names_of_peers(state_.held_for), limit));
    event.round = next;
    event.peers = state_.held_for;
    event.limit_seconds = limit;
    return;
  }
  const double seconds = to_seconds(core_.now() - state_.held_since);
  SwarmEvent& event = core_.news.report(
      SwarmEventKind::kWaitOver, fmt::format("rounds no longer wait until {} has caught up, after "
                                             "{:.1f} s",
                                             names_of_peers(before), seconds));
  event.round = next;
  event.peers = before;
  event.seconds = seconds;
}

// --- The rate of this member's links that is left for others.

void StateGiving::note_sent(std::uint8_t type, std::size_t bytes) {
  if (is_round_data(type)) core_.server.throttle().on_round_sent(bytes, core_.now());
}

void StateGiving::note_received(std::uint8_t type, std::size_t bytes) {
  if (is_round_data(type)) core_.server.throttle().on_round_received(bytes, core_.now());
}

// The round's data is through once it is whole here and nothing waits to be sent any more.
void StateGiving::settle() {
  settle_hold();
  StateThrottle& throttle = core_.server.throttle();
  const View& view = core_.view();
  const auto still_sends = [&](const Member& member) {
    return member.id != core_.self() && core_.outlet.queued_bytes(member.id) > 0;
  };
  if (throttle.exchanging() && !core_.rounds.moving() &&
      std::ranges::none_of(view.members, still_sends)) {
    throttle.on_round_over(core_.now());
  }
  if (!core_.server.waiting()) return;
  throttle.set_waiting(std::ranges::any_of(view.members, still_sends));
  throttle.set_group(view.size(), static_cast<int>(state_.joiners.size()));
  core_.server.pump_all(core_.now());
}

TimePoint StateGiving::deadline() const {
  const TimePoint next = std::min(core_.server.next_deadline(core_.now()), state_.hold.deadline());
  const bool unused = state_.joiners.empty() && state_.published;
  return unused ? std::min(next, core_.server.unused_at()) : next;
}

void StateGiving::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
