#include "weft/collective/parts/held_offer.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"
#include "weft/wire/frame_type.h"

namespace weft {

void HeldOffer::send_to(const PeerId& sponsor) {
  HeldStateMessage claim{state_.round, {}};
  const MembershipOptions& own = core_.options.membership;
  if (const std::optional<VoterRecord>& past = own.past) {
    claim.run = core_.options.held_run;
    claim.view_run = past->view_run;
    claim.view = past->view;
    claim.members = past->members;
    if (claim.members.size() > kMembersMax) claim.members.resize(kMembersMax);
    claim.history = history_of(*past);
    const HeldStateMessage said = claim;
    for (PastRun& run : claim.history) {
      const Hash256* key = key_of(*past, run.run);
      if (key == nullptr) continue;
      run.proof = claim_proof(*key, said, own.self, own.run);
    }
  }
  core_.outlet.send_message(sponsor, frame_type::kHeldState, claim);
}

Status HeldOffer::on_frame(const PeerId& from, const FrameView& frame) {
  WEFT_TRY_ASSIGN(const HeldStateMessage held, HeldStateMessage::decode(frame.head));
  if (core_.gathering.open() && core_.giving.joiners().contains(from)) {
    core_.gathering.on_held_state(from, held);
  } else if (core_.membership.state() == MembershipState::kSyncing &&
             core_.way.sync_view().contains(from)) {
    on_taken(held);
  }
  return {};
}

void HeldOffer::on_taken(const HeldStateMessage& taken) {
  core_.membership.set_history(taken.history, core_.now());
  const bool ours = std::ranges::any_of(taken.history, [&](const PastRun& past) {
    return past.run == core_.options.held_run && state_.round <= past.until;
  });
  const bool has_state = core_.trainer.has_state();
  if (holds() && !has_state && !ours && !taken.history.empty()) {
    core_.news.report(
        SwarmEventKind::kStartWaiting,
        fmt::format("the state after round {} that this peer holds is not of this run's history; "
                    "it takes the group's",
                    state_.round.value()));
  }
  // The founder has taken this peer's own state: there is nothing to fetch.
  if (has_state || taken.round != state_.round || !core_.server.has(taken.root)) return;
  core_.trainer.take_state(state_.round);
  core_.taking.drop_snapshot();
  core_.taking.stop();
  core_.taking.note_results_from_now();
  core_.ending.on_state();
}

void HeldOffer::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
