#include "weft/collective/parts/state_taking.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"
#include "weft/wire/frame_type.h"

namespace weft {

// A member that lags asks again if nothing has arrived for this long.
static constexpr Duration kFetchRetry = std::chrono::seconds(1);
// A state of another branch came: the members may not know the newest view yet.
static constexpr Duration kFetchAgain = std::chrono::seconds(1);
// A joiner that learns of no newer round for this long considers itself up to date.
static constexpr Duration kCaughtUpWait = std::chrono::milliseconds(100);

// A joiner that lags this much more than when it had the state, after this long, would never catch
// up with results alone.
static constexpr Duration kFirstLag = std::chrono::seconds(1);
static constexpr Duration kFallsBehind = std::chrono::seconds(10);
static constexpr std::uint64_t kLagGrowth = 4;
static constexpr std::uint64_t kHopelessLag = 16;

void StateTaking::begin_wait() { state_.began = core_.now(); }

void StateTaking::ask_again() { state_.retry_at = core_.now(); }

void StateTaking::note_results_from_now() { state_.results_since = core_.now(); }

void StateTaking::take_from(const PeerId& peer) {
  begin_wait();
  state_.sources = {peer};
  core_.fetch.set_sources(state_.sources, core_.now());
  state_.fetching = Fetching::kSnapshot;
  core_.fetch.fetch_snapshot(core_.now());
}

std::vector<PeerId> StateTaking::linked_sources() const {
  std::vector<PeerId> out;
  for (const Member& member : core_.group().members) {
    if (member.id != core_.self() && core_.transport.linked(member.id)) out.push_back(member.id);
  }
  return out;
}

void StateTaking::settle() {
  if (core_.adoption.open()) return;
  const Membership& membership = core_.membership;
  TrainerSide& trainer = core_.trainer;
  const bool member = core_.is_member();
  const bool syncing = membership.state() == MembershipState::kSyncing && !membership.queued();
  const bool behind =
      member && (!trainer.has_state() || trainer.round() < core_.rounds.committed());
  const bool lags = behind && core_.log.find(trainer.round().next()) == nullptr;
  if (!syncing && !lags) {
    if (state_.fetching != Fetching::kNothing) stop();
    return;
  }
  if (std::vector<PeerId> current = linked_sources(); current != state_.sources) {
    state_.sources = std::move(current);
    core_.fetch.set_sources(state_.sources, core_.now());
  }
  // A member whose state is lost, or that has no member to ask, can never do its part.
  const bool nobody_has_it = member && (!trainer.has_state() || core_.view().size() == 1);
  const bool gone = state_.fetching == Fetching::kResults && core_.fetch.results_gone();
  if (nobody_has_it || gone || (syncing && falls_behind())) {
    // A member cannot wait for a snapshot: the others wait for its part of the next round.
    if (member) {
      stop();
      return trainer.fail(
          unavailable(fmt::format("the sums of round {} are kept by no member any more: join anew",
                                  trainer.round().next().value())));
    }
    trainer.drop_state();
    forget();
  }
  // What was fetched last was another branch's.
  const bool nothing = state_.fetching == Fetching::kNothing;
  if (nothing && core_.now() < state_.refetch_at) return;
  if (nothing || (lags && trainer.has_state() && stalled())) start();
}

void StateTaking::start() {
  state_.retry_at = core_.now() + kFetchRetry;
  if (core_.trainer.has_state()) {
    state_.fetching = Fetching::kResults;
    core_.fetch.fetch_results(core_.trainer.round().next(), core_.now());
  } else {
    state_.fetching = Fetching::kSnapshot;
    core_.fetch.fetch_snapshot(core_.now());
  }
}

void StateTaking::stop() {
  core_.fetch.stop();
  state_.fetching = Fetching::kNothing;
  state_.sources.clear();
}

bool StateTaking::falls_behind() {
  if (state_.fetching != Fetching::kResults || !core_.trainer.has_state()) return false;
  const Round round = core_.trainer.round();
  const std::uint64_t lag = std::max(newest(), round).value() - round.value();
  const Duration passed = core_.now() - state_.results_since;
  if (passed < kFirstLag) state_.first_lag = lag;
  return passed >= kFallsBehind && lag > kLagGrowth * state_.first_lag + kHopelessLag;
}

// True now and then while nothing at all arrives.
bool StateTaking::stalled() {
  if (core_.now() < state_.retry_at) return false;
  const std::uint64_t bytes = core_.fetch.bytes_received();
  const bool moved = bytes != std::exchange(state_.seen_bytes, bytes);
  state_.retry_at = core_.now() + kFetchRetry;
  return !moved;
}

// --- The training side.

std::optional<Turn> StateTaking::load_turn() {
  if (!state_.snapshot && !take_snapshot()) return std::nullopt;
  Turn turn = core_.trainer.make_turn(TurnKind::kLoadState, state_.snapshot->round);
  turn.state = state_.snapshot->state;
  return turn;
}

bool StateTaking::take_snapshot() {
  std::optional<StateFetch::Snapshot> fetched = core_.fetch.take_snapshot(core_.now());
  if (!fetched) return false;
  if (core_.merges() && !take_history(*fetched)) {
    stop();
    state_.refetch_at = core_.now() + kFetchAgain;
    return false;
  }
  state_.snapshot = std::move(fetched);
  return true;
}

bool StateTaking::take_history(StateFetch::Snapshot& fetched) {
  state_.history = {};
  const Result<std::size_t> before = StateHistory::bytes_in(fetched.state.span());
  if (!before.ok()) return false;
  Result<StateHistory> history = StateHistory::decode(fetched.state.span().first(*before));
  const Lineage& wanted = core_.group().lineage;
  if (!history.ok() || history->branch != wanted.branch() || history->absorbed != wanted.absorbed) {
    return false;
  }
  state_.history = *std::move(history);
  fetched.state = fetched.state.slice(*before, fetched.state.size() - *before);
  return true;
}

void StateTaking::on_loaded() {
  const StateFetch::Snapshot loaded = *std::exchange(state_.snapshot, std::nullopt);
  core_.trainer.take_state(loaded.round);
  core_.offer.hold(Round());
  core_.branches.take_history(state_.history);
  core_.log.clear();
  std::string text = fmt::format("the state after round {} is here, {} bytes", loaded.round.value(),
                                 loaded.state.size());
  if (core_.fetch.blocks_resumed() > 0) {
    text += fmt::format("; {} of its blocks were here before", core_.fetch.blocks_resumed());
  }
  SwarmEvent& received = core_.news.report(SwarmEventKind::kStateReceived, std::move(text));
  received.round = loaded.round;
  received.bytes = core_.fetch.bytes_received();
  received.seconds = to_seconds(core_.now() - state_.began);
  state_.fetching = Fetching::kResults;
  note_results_from_now();
  core_.adoption.on_loaded(loaded.root);
  core_.ending.on_state();
}

std::optional<StateFetch::FetchedResult> StateTaking::take_result(Round round) {
  if (state_.fetching != Fetching::kResults) return std::nullopt;
  std::optional<StateFetch::FetchedResult> fetched = core_.fetch.take_result(core_.now());
  while (fetched && fetched->round < round) fetched = core_.fetch.take_result(core_.now());
  if (!fetched || fetched->round != round) return std::nullopt;
  return fetched;
}

std::optional<Round> StateTaking::snapshot_round() const {
  return state_.snapshot ? std::optional(state_.snapshot->round) : std::nullopt;
}

// No answer yet may mean that nothing was committed since the snapshot, or that it is slow.
bool StateTaking::knows_newest() const {
  return newest() > core_.trainer.round() || core_.now() >= state_.results_since + kCaughtUpWait;
}

Round StateTaking::newest() const {
  return std::max(core_.fetch.newest_known(), core_.way.sync_view().base_round);
}

Status StateTaking::on_frame(const PeerId& from, const FrameView& frame) {
  if (std::ranges::count(state_.sources, from) == 0) return {};
  core_.membership.on_sign_of_life(from, core_.now());
  return core_.fetch.on_frame(from, frame, core_.now());
}

TimePoint StateTaking::deadline() const {
  const TimePoint now = core_.now();
  TimePoint next = TimePoint::max();
  if (now < state_.refetch_at) next = state_.refetch_at;
  if (state_.fetching != Fetching::kResults) return next;
  if (core_.is_member()) next = std::min(next, state_.retry_at);
  const TimePoint caught_up = state_.results_since + kCaughtUpWait;
  return now < caught_up ? std::min(next, caught_up) : next;
}

void StateTaking::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
