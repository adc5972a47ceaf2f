#include "weft/collective/parts/complaints.h"

#include <fmt/format.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"
#include "weft/wire/frame_type.h"

namespace weft {

void Complaints::suspect(const PeerId& peer, std::string reason) {
  state_.suspects.push_back({peer, std::move(reason)});
}

void Complaints::overdue(const PeerId& peer, std::string reason) {
  state_.overdue.push_back({peer, std::move(reason)});
}

void Complaints::close(const PeerId& peer, Status why) {
  state_.closing.push_back({peer, std::move(why)});
}

void Complaints::settle_stalls() {
  for (const Stall& stall : core_.rounds.take_stalls()) {
    if (stall.kind == StallKind::kLies) {
      core_.membership.blame(stall.peer, Offence::kFalsified, stall.text, core_.now());
    } else {
      report_stall(stall);
    }
  }
}

void Complaints::report_stall(const Stall& stall) {
  const std::string name = stall.peer.short_name();
  SwarmEvent& stalled = core_.news.report(SwarmEventKind::kStalled, {});
  stalled.peer = stall.peer;
  stalled.round = stall.round;
  stalled.seconds = to_seconds(stall.waited);
  switch (stall.kind) {
    case StallKind::kStuck:
      stalled.text = fmt::format("round {}: no data arrives from peer {}; link renewed",
                                 stall.round.value(), name);
      close(stall.peer, timed_out(stalled.text));
      break;
    case StallKind::kSilent:
      stalled.text = fmt::format("round {}: peer {} has not answered for {:.1f} s",
                                 stall.round.value(), name, stalled.seconds);
      suspect(stall.peer, stalled.text);
      break;
    case StallKind::kLies:
      break;
    case StallKind::kDiffers:
      stalled.text =
          fmt::format("round {}: the vector or the sums of peer {} differ from this member's",
                      stall.round.value(), name);
      suspect(stall.peer, stalled.text);
      break;
  }
}

void Complaints::settle_comparison() {
  for (StateHashOut& out : core_.comparison.take_messages()) {
    core_.outlet.send_message(out.to, frame_type::kStateHash, out.message);
  }
  for (const StateDifference& difference : core_.comparison.take_differences()) {
    SwarmEvent& mismatch = core_.news.report(SwarmEventKind::kStateMismatch, difference.text);
    mismatch.peer = difference.peer;
    mismatch.round = difference.round;
    if (difference.peer_is_wrong) {
      suspect(difference.peer, difference.text);
      // Once: a bit that flipped in memory differs in every round until that member is gone.
      if (state_.mismatched.insert(difference.peer).second) {
        core_.membership.blame(difference.peer, Offence::kWrongHash, difference.text, core_.now());
      }
    }
    if (difference.self_is_wrong) core_.trainer.fail(corrupt(difference.text));
  }
}

void Complaints::settle() {
  for (const auto& [peer, reason] : std::exchange(state_.suspects, {})) {
    core_.membership.suspect(peer, reason, core_.now());
  }
  for (const auto& [peer, reason] : std::exchange(state_.overdue, {})) {
    core_.membership.overdue(peer, reason, core_.now());
  }
  for (const auto& [peer, why] : std::exchange(state_.closing, {})) {
    core_.transport.close(peer, why);
  }
}

void Complaints::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
