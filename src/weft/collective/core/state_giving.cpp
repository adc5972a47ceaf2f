#include "weft/collective/parts/state_giving.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"
#include "weft/wire/frame_type.h"

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

void StateGiving::on_joiner_gone(const PeerId& joiner, const Status& why) {
  state_.joiners.erase(joiner);
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
  return core_.server.on_frame(from, frame, core_.view().contains(from), core_.now());
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
  const TimePoint next = core_.server.next_deadline(core_.now());
  const bool unused = state_.joiners.empty() && state_.published;
  return unused ? std::min(next, core_.server.unused_at()) : next;
}

void StateGiving::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
