// SwarmCore: what the training side does next, and what people are shown.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/core/swarm_core.h"

namespace weft {

void SwarmCore::request_turn() {
  if (given_ == TurnKind::kLoadState && snapshot_) on_state_loaded();
  if (given_ == TurnKind::kMerge && !merging_.empty()) on_merged();
  given_ = TurnKind::kWait;
  lent_ = false;
  late_.training.reset();
  late_.absent = false;
  late_.early.reset();
  apply_.reset();
  requested_ = true;
  settle();
}

std::optional<Result<Turn>> SwarmCore::take_turn() {
  if (!requested_) return std::nullopt;
  std::optional<Result<Turn>> turn = decide();
  if (!turn) return std::nullopt;
  requested_ = false;
  if (turn->ok()) given_ = (*turn)->kind;
  if (given_ == TurnKind::kTrain) late_.training = {(*turn)->view, (*turn)->round};
  return turn;
}

std::optional<RoundOutcome> SwarmCore::take_outcome() { return std::exchange(outcome_, {}); }

std::vector<SwarmEvent> SwarmCore::take_events() { return std::exchange(events_, {}); }

Turn SwarmCore::make_turn(TurnKind kind, Round round) const {
  Turn turn;
  turn.kind = kind;
  turn.round = round;
  turn.view = view().id;
  turn.rank = view().rank_of(options_.membership.self);
  turn.members = view().size();
  for (const Member& member : view().members) {
    turn.peers.push_back(member.id);
    turn.halvings.push_back(member.halvings);
  }
  if (kind == TurnKind::kSnapshot && merges()) turn.state = SharedBytes(history_.encode());
  return turn;
}

std::optional<Result<Turn>> SwarmCore::decide() {
  if (has_state_ && at_end()) {
    if (auto turn = ending_turn()) return *turn;
    return std::nullopt;
  }
  if (!failure_.ok() && !end_is_coming()) return failure_;
  const bool wanted = server_.wanted() && !publishing_;
  if (!has_state_ && wanted && held_round_ > Round() && published_ != held_round_) {
    return snapshot_turn(held_round_);
  }
  if (!has_state_ || adopting_) {
    if (auto turn = load_turn()) return *turn;
    return std::nullopt;
  }
  if (!merging_.empty() && merging_.front().round == trainer_round_) {
    if (auto turn = merge_turn()) return *turn;
    return std::nullopt;
  }
  if (auto turn = apply_turn()) return *turn;
  if (!is_member() || trainer_round_ != rounds_.committed()) return std::nullopt;
  if (merges() && !fits(view().lineage)) return std::nullopt;
  if (wants_snapshot()) return snapshot_turn(trainer_round_);
  // Its members wait for another branch to take what they know.
  if (view().yields_to) return std::nullopt;
  const bool frozen = membership_.frozen() || membership_.state() != MembershipState::kMember;
  // An open round is one that this member was too late for.
  if (frozen || rounds_.open() || !may_start() || !rounds_.can_aggregate().ok()) {
    return std::nullopt;
  }
  return make_turn(TurnKind::kTrain, trainer_round_.next());
}

Turn SwarmCore::snapshot_turn(Round round) {
  published_ = round;
  published_root_.reset();
  publishing_ = true;
  return make_turn(TurnKind::kSnapshot, round);
}

std::optional<Turn> SwarmCore::load_turn() {
  if (!snapshot_ && !take_fetched_snapshot()) return std::nullopt;
  Turn turn = make_turn(TurnKind::kLoadState, snapshot_->round);
  turn.state = snapshot_->state;
  return turn;
}

std::optional<Turn> SwarmCore::apply_turn() {
  if (is_member() && trainer_round_ >= rounds_.committed()) return std::nullopt;
  const Round next = trainer_round_.next();
  Turn turn = make_turn(TurnKind::kApply, next);
  SharedBytes reports;
  if (const ResultLog::Entry* entry = log_.find(next)) {
    apply_ = entry->values;
    reports = entry->reports;
  } else {
    if (fetching_ != Fetching::kResults) return std::nullopt;
    std::optional<StateFetch::FetchedResult> fetched = fetch_.take_result(now());
    while (fetched && fetched->round < next) fetched = fetch_.take_result(now());
    if (!fetched || fetched->round != next) return std::nullopt;
    apply_ = fetched->values;
    reports = fetched->reports;
    keep_result({next, fetched->hash, std::move(fetched->values), std::move(fetched->reports)});
  }
  turn.reduced = std::as_const(*apply_).span();
  turn.reports = reports_of(reports);
  return turn;
}

bool SwarmCore::may_start() const {
  if (gathering_) return false;
  if (trainer_round_ != start_round_) return true;
  if (view().size() >= start_members_) return true;
  if (now() >= started_ + options_.start_timeout) return true;
  // The founder has the say, because it has waited longest.
  return !founder_ && rounds_.begun_elsewhere(trainer_round_.next());
}

SwarmStatus SwarmCore::status() const {
  SwarmStatus status;
  status.state = std::string(to_string(membership_.state()));
  status.view = view().id;
  for (const Member& member : view().members) {
    PeerStatus peer;
    peer.id = member.id;
    peer.rank = view().rank_of(member.id);
    peer.self = member.id == options_.membership.self;
    peer.linked = peer.self || transport_.linked(member.id);
    const TransportStats stats = transport_.stats(member.id);
    peer.rtt_seconds = stats.rtt_seconds;
    peer.bytes_sent = stats.bytes_sent;
    peer.bytes_received = stats.bytes_received;
    status.members.push_back(peer);
  }
  const TransportStats total = transport_.total_stats();
  status.bytes_sent = total.bytes_sent;
  status.bytes_received = total.bytes_received;
  status.committed = std::max(rounds_.committed(), trainer_round_);
  status.applied = trainer_round_;
  status.view_changes = view_changes_;
  status.rounds_rerun = rounds_rerun_;
  status.rounds_late = late_.rounds;
  status.seconds_lost = seconds_lost_;
  status.state_hash = state_hash_;
  add_waits(status);
  return status;
}

Ticket SwarmCore::ticket(Duration valid_for) {
  std::array<std::uint8_t, 8> drawn{};
  for (std::uint8_t& byte : drawn) byte = static_cast<std::uint8_t>(rng_.next_u32());
  return membership_.ticket(unix_time_s(), valid_for, make_invitation_id(drawn));
}

std::string_view to_string(TurnKind kind) {
  switch (kind) {
    case TurnKind::kWait:
      return "wait";
    case TurnKind::kLoadState:
      return "load state";
    case TurnKind::kApply:
      return "apply";
    case TurnKind::kTrain:
      return "train";
    case TurnKind::kSnapshot:
      return "snapshot";
    case TurnKind::kMerge:
      return "merge";
    case TurnKind::kFinished:
      return "finished";
  }
  return "unknown";
}

std::string_view to_string(SwarmEventKind kind) {
  switch (kind) {
    case SwarmEventKind::kViewChanged:
      return "view_changed";
    case SwarmEventKind::kPeerJoined:
      return "peer_joined";
    case SwarmEventKind::kPeerLeft:
      return "peer_left";
    case SwarmEventKind::kRoundRerun:
      return "round_rerun";
    case SwarmEventKind::kQuorumLost:
      return "quorum_lost";
    case SwarmEventKind::kQuorumBack:
      return "quorum_back";
    case SwarmEventKind::kJoinRefused:
      return "join_refused";
    case SwarmEventKind::kLinkRefused:
      return "link_refused";
    case SwarmEventKind::kLinkUp:
      return "link_up";
    case SwarmEventKind::kStateMismatch:
      return "state_mismatch";
    case SwarmEventKind::kJoinerSyncing:
      return "joiner_syncing";
    case SwarmEventKind::kStateReceived:
      return "state_received";
    case SwarmEventKind::kCaughtUp:
      return "caught_up";
    case SwarmEventKind::kLate:
      return "late";
    case SwarmEventKind::kStalled:
      return "stalled";
    case SwarmEventKind::kWaiting:
      return "waiting";
    case SwarmEventKind::kOverdue:
      return "overdue";
    case SwarmEventKind::kAwaited:
      return "awaited";
    case SwarmEventKind::kWaitOver:
      return "waiting_over";
    case SwarmEventKind::kMisconduct:
      return "misconduct";
    case SwarmEventKind::kRevoked:
      return "revoked";
    case SwarmEventKind::kRingProposed:
      return "ring_proposed";
    case SwarmEventKind::kUnreached:
      return "unreached";
    case SwarmEventKind::kSplit:
      return "split";
    case SwarmEventKind::kYielding:
      return "yielding";
    case SwarmEventKind::kMerged:
      return "merged";
    case SwarmEventKind::kTwin:
      return "identity_twin";
    case SwarmEventKind::kRemoved:
      return "removed";
    case SwarmEventKind::kRunOver:
      return "run_over";
    case SwarmEventKind::kRunMissed:
      return "run_missed";
    case SwarmEventKind::kStartWaiting:
      return "start_waiting";
  }
  return "unknown";
}

}  // namespace weft
