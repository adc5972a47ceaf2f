#include "weft/collective/parts/way_in.h"

#include <fmt/format.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"

namespace weft {

void WayIn::join(const Ticket& ticket) { core_.membership.join(ticket, core_.now()); }

void WayIn::on_accepted(const View& view, const PeerId& sponsor) {
  state_.sync_view = view;
  for (const Member& member : view.members) {
    if (member.id != core_.self()) core_.transport.connect({member.id, member.endpoints});
  }
  if (sponsor != PeerId()) core_.offer.send_to(sponsor);
}

void WayIn::on_view() {
  state_.removed = false;
  state_.admission_asked.reset();
}

void WayIn::on_removed(const Status& why) {
  state_.removed = true;
  core_.news.report(SwarmEventKind::kRemoved, why.message());
  if (core_.ending.reached()) return;
  if (state_.rejoins < core_.options.rejoins_max) {
    state_.rejoin = true;
  } else {
    core_.trainer.fail(unavailable(why.message()));
  }
}

void WayIn::on_failed(const Status& why) {
  core_.news.report(SwarmEventKind::kJoinRefused, why.message()).peer = core_.self();
  // A former member tries again: many may want to return at once.
  const bool again = state_.rejoins > 0 && state_.rejoins < core_.options.rejoins_max;
  if (again && why.code() != Code::kInvalidArgument) {
    state_.rejoin = true;
  } else {
    core_.trainer.fail(why);
  }
}

void WayIn::settle() {
  // Not while the training side computes: it could neither take the state nor go on.
  if (state_.rejoin && core_.trainer.requested()) join_again();
  if (core_.membership.state() == MembershipState::kSyncing && core_.trainer.has_state() &&
      !core_.ending.reached()) {
    ask_for_admission();
  }
}

void WayIn::join_again() {
  state_.rejoin = false;
  ++state_.rejoins;
  // How far the others are is not known, nor whether they keep all results since.
  core_.trainer.drop_state();
  core_.taking.forget();
  core_.taking.begin_wait();
  core_.membership.join(core_.ticket(std::chrono::hours(1)), core_.now());
}

void WayIn::ask_for_admission() {
  const Round round = core_.trainer.round();
  if (!core_.taking.knows_newest() || round.next() < core_.taking.newest()) return;
  if (state_.admission_asked && *state_.admission_asked >= round) return;
  state_.admission_asked = round;
  core_.news
      .report(SwarmEventKind::kCaughtUp,
              fmt::format("caught up with the group at round {}", round.value()))
      .round = round;
  core_.membership.caught_up(round, core_.now());
}

void WayIn::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
