#include "weft/collective/parts/swarm_news.h"

#include <utility>

#include <fmt/format.h>

#include "weft/collective/parts/event_box.h"
#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"

namespace weft {

static constexpr std::size_t kEventsMax = 4096;

SwarmEvent& SwarmNews::report(SwarmEventKind kind, std::string text) {
  SwarmEvent made;
  made.kind = kind;
  made.view = core_.view().id;
  made.text = std::move(text);
  return keep_event(state_.events, std::move(made), kEventsMax);
}

std::vector<SwarmEvent> SwarmNews::take() { return std::exchange(state_.events, {}); }

void SwarmNews::on_freeze() {
  if (state_.frozen_at == TimePoint::max()) state_.frozen_at = core_.now();
}

void SwarmNews::on_view() {
  const TimePoint since = std::exchange(state_.frozen_at, TimePoint::max());
  if (since != TimePoint::max()) state_.seconds_lost += to_seconds(core_.now() - since);
  ++state_.view_changes;
}

void SwarmNews::on_aborted(const RoundOutcome& outcome) {
  if (outcome.took <= Duration::zero() || outcome.round <= core_.rounds.committed()) return;
  const double seconds = to_seconds(outcome.took);
  state_.seconds_lost += seconds;
  // Whether and by whom it is run again is not known yet.
  if (core_.membership.state() == MembershipState::kIsolated) return;
  ++state_.rounds_rerun;
  SwarmEvent& rerun =
      report(SwarmEventKind::kRoundRerun,
             fmt::format("round {} is run again: {:.2f} s lost", outcome.round.value(), seconds));
  rerun.round = outcome.round;
  rerun.seconds = seconds;
}

void SwarmNews::add_to(SwarmStatus& status) const {
  status.view_changes = state_.view_changes;
  status.rounds_rerun = state_.rounds_rerun;
  status.seconds_lost = state_.seconds_lost;
}

void SwarmNews::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
