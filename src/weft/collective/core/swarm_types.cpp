#include "weft/collective/parts/swarm_types.h"

namespace weft {

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
