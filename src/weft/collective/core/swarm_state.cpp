// SwarmCore: state that is given and taken: snapshots and results.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/core/swarm_core.h"
#include "weft/wire/frame_type.h"

namespace weft {

// A member that lags asks again if nothing has come for so long.
static constexpr Duration kFetchRetry = std::chrono::seconds(1);

static bool is_round_data(std::uint8_t type) {
  return type == frame_type::kSegment || type == frame_type::kGroupSegment;
}

void SwarmCore::publish_state(Round round, Bytes state) {
  if (merges()) {
    const Bytes history = history_.encode();
    state.insert(state.begin(), history.begin(), history.end());
  }
  publish_state(make_state_snapshot(round, std::move(state)));
}

void SwarmCore::publish_state(StateSnapshot snapshot) {
  publishing_ = false;
  if (keep_published(snapshot)) server_.publish(std::move(snapshot), now());
  settle();
}

bool SwarmCore::wants_snapshot() const {
  const bool wanted = server_.wanted() || must_offer();
  return wanted && !publishing_ && published_ != trainer_round_;
}

void SwarmCore::lend_state(bool lent) {
  lent_ = lent;
  settle();
}

std::optional<Turn> SwarmCore::take_snapshot_order() {
  if (!lent_ || !is_member() || !has_state_ || trainer_round_ != rounds_.committed()) return {};
  if (!failure_.ok() || !merging_.empty() || (merges() && !fits(view().lineage))) return {};
  // While sums are on their way a newer state is near, and the lines are taken anyway.
  if (server_.throttle().exchanging() || !wants_snapshot()) return {};
  return snapshot_turn(trainer_round_);
}

void SwarmCore::snapshot_missed() {
  publishing_ = false;
  published_ = server_.newest_snapshot();
  settle();
}

Status SwarmCore::on_state_frame(const PeerId& from, const FrameView& frame) {
  switch (frame.type) {
    case frame_type::kStateQuery:
    case frame_type::kBlockRequest:
    case frame_type::kResultRequest:
    case frame_type::kStateReceived: {
      // Only ticket holders get it, from members, and members from one that comes back with more.
      const bool to_joiner = is_member() && membership_.role(from) != PeerRole::kStranger;
      const bool to_founder = !is_member() && held_round_ > Round() && sync_view_.contains(from);
      if (!to_joiner && !to_founder) return {};
      membership_.heard(from, now());
      return server_.on_frame(from, frame, view().contains(from), now());
    }
    case frame_type::kHeldState: {
      WEFT_TRY_ASSIGN(const HeldStateMessage held, HeldStateMessage::decode(frame.head));
      on_held_state(from, held);
      return {};
    }
    default:
      // Also what comes after it was asked for in vain: who serves waits for the word.
      if (membership_.role(from) != PeerRole::kStranger) fetch_.acknowledge(from, frame);
      if (from_merge_source(from)) {
        membership_.heard(from, now());
        return merge_states_.on_frame(from, frame, now());
      }
      if (std::ranges::count(sources_, from) == 0) return {};
      membership_.heard(from, now());
      return fetch_.on_frame(from, frame, now());
  }
}

// --- What this member's line has left for others.

void SwarmCore::note_sent(std::uint8_t type, std::size_t bytes) {
  if (is_round_data(type)) server_.throttle().on_round_sent(bytes, now());
}

void SwarmCore::note_received(std::uint8_t type, std::size_t bytes) {
  if (is_round_data(type)) server_.throttle().on_round_received(bytes, now());
}

// The round's data is through once it is whole here and nothing waits to be sent any more.
void SwarmCore::settle_serving() {
  StateThrottle& throttle = server_.throttle();
  const auto still_sends = [&](const Member& member) {
    return member.id != options_.membership.self && queued_bytes(member.id) > 0;
  };
  if (throttle.exchanging() && !rounds_.moving() &&
      std::ranges::none_of(view().members, still_sends)) {
    throttle.on_round_over(now());
  }
  if (!server_.waiting()) return;
  throttle.set_waiting(std::ranges::any_of(view().members, still_sends));
  throttle.set_group(view().size(), static_cast<int>(joiners_.size()));
  server_.pump_all(now());
}

// --- Taking the state.

std::vector<PeerId> SwarmCore::sources() const {
  std::vector<PeerId> out;
  const View& known = is_member() ? view() : sync_view_;
  for (const Member& member : known.members) {
    if (member.id != options_.membership.self && transport_.linked(member.id)) {
      out.push_back(member.id);
    }
  }
  return out;
}

void SwarmCore::settle_fetch() {
  if (adopting_) return;
  const bool syncing = membership_.state() == MembershipState::kSyncing && !membership_.queued();
  const bool behind = is_member() && (!has_state_ || trainer_round_ < rounds_.committed());
  const bool lags = behind && log_.find(trainer_round_.next()) == nullptr;
  if (!syncing && !lags) {
    if (fetching_ != Fetching::kNothing) stop_fetch();
    return;
  }
  if (std::vector<PeerId> current = sources(); current != sources_) {
    sources_ = std::move(current);
    fetch_.set_sources(sources_, now());
  }
  // A member whose state is gone, or that has nobody to ask, can never do its part.
  const bool nobody_has_it = is_member() && (!has_state_ || view().size() == 1);
  if (nobody_has_it || (fetching_ == Fetching::kResults && fetch_.results_gone())) {
    // A member cannot wait for a snapshot: the others wait for its part of the next round.
    if (is_member()) {
      fail(unavailable(fmt::format("the sums of round {} are kept by no member any more: join anew",
                                   trainer_round_.next().value())));
      return;
    }
    has_state_ = false;
    fetching_ = Fetching::kNothing;
  }
  // What was fetched last was another branch's.
  if (fetching_ == Fetching::kNothing && now() < refetch_at_) return;
  if (fetching_ == Fetching::kNothing || (lags && has_state_ && fetch_stalled())) start_fetch();
}

void SwarmCore::start_fetch() {
  fetch_retry_at_ = now() + kFetchRetry;
  if (has_state_) {
    fetching_ = Fetching::kResults;
    fetch_.fetch_results(trainer_round_.next(), now());
  } else {
    fetching_ = Fetching::kSnapshot;
    fetch_.fetch_snapshot(now());
  }
}

void SwarmCore::stop_fetch() {
  fetch_.stop();
  fetching_ = Fetching::kNothing;
  sources_.clear();
}

// True now and then while nothing at all arrives.
bool SwarmCore::fetch_stalled() {
  if (now() < fetch_retry_at_) return false;
  const bool moved = fetch_.bytes_received() != fetched_bytes_;
  fetched_bytes_ = fetch_.bytes_received();
  fetch_retry_at_ = now() + kFetchRetry;
  return !moved;
}

void SwarmCore::on_state_loaded() {
  has_state_ = true;
  trainer_round_ = snapshot_->round;
  held_round_ = Round();
  history_ = fetched_history_;
  log_.clear();
  std::string text = fmt::format("the state after round {} is here, {} bytes",
                                 trainer_round_.value(), snapshot_->state.size());
  if (fetch_.blocks_resumed() > 0) {
    text += fmt::format("; {} of its blocks were here before", fetch_.blocks_resumed());
  }
  SwarmEvent& received = event(SwarmEventKind::kStateReceived, std::move(text));
  received.round = trainer_round_;
  received.bytes = fetch_.bytes_received();
  received.seconds = to_seconds(now() - sync_started_);
  fetching_ = Fetching::kResults;
  results_since_ = now();
  if (adopting_) {
    adopted_root_ = snapshot_->root;
    adopted_from_ = adopting_;
    if (const auto held = held_states_.find(*adopting_); held != held_states_.end()) {
      own_generation_ = held->second.claim.generation;
      held->second.claim.round = std::min(held->second.claim.round, trainer_round_);
    }
    adopting_.reset();
    rounds_.restart_at(trainer_round_);
    start_round_ = trainer_round_;
    stop_fetch();
  }
  snapshot_.reset();
  reach_end();
}

}  // namespace weft
