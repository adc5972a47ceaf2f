#include "weft/collective/parts/late_rounds.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"

namespace weft {

static constexpr Duration kLateTold = std::chrono::seconds(10);

void LateRounds::stand_in(const CollectiveId& given_for, StandIn given) {
  state_.given = std::move(given);
  state_.given_for = given_for;
}

bool LateRounds::may_stand_in() const {
  const Membership& membership = core_.membership;
  const bool works =
      core_.is_member() && membership.state() == MembershipState::kMember && !membership.frozen() &&
      core_.trainer.has_state() && core_.trainer.failure().ok() && core_.view().size() > 1 &&
      !core_.view().yields_to && !core_.branches.merging() && !core_.branches.foreign();
  if (!works || state_.given.deadline <= Duration::zero()) return false;
  const Round next = core_.rounds.committed().next();
  if (core_.rounds.open()) return core_.round.waits_for_input(state_.given.elements);
  // Only a round like those that the training side has seen: not an evaluation.
  if (!core_.rounds.begun_alike(next, state_.given.elements)) return false;
  // There must be room for the results that the training side has yet to apply, since no member
  // could send them again.
  const std::uint64_t lag = next.value() - core_.trainer.round().value();
  return lag <= 2 || lag * static_cast<std::uint64_t>(state_.given.elements) * sizeof(float) <=
                         core_.options.result_log_bytes_max;
}

void LateRounds::settle() {
  state_.due = TimePoint::max();
  if (!may_stand_in()) return;
  const TimePoint now = core_.now();
  const CollectiveId next{core_.view().id, core_.rounds.committed().next()};
  if (state_.next != next) {
    state_.next = next;
    state_.since = now;
  }
  const std::optional<CollectiveId>& training = core_.trainer.training();
  const bool busy = state_.absent && training && training->round < next.round;
  state_.due = busy ? now : state_.since + state_.given.deadline;
  if (now < state_.due) return;
  state_.due = TimePoint::max();
  enter(next);
}

void LateRounds::enter(const CollectiveId& id) {
  const StandIn& given = state_.given;
  const auto elements = static_cast<std::size_t>(given.elements);
  if (!state_.zeros || state_.zeros->span().size() != elements) {
    state_.zeros = std::make_shared<FloatBuffer>(given.elements);
    std::ranges::fill(state_.zeros->span(), 0.0F);
  }
  // Shares may differ in another view, so reports on them do not hold here.
  const bool known = state_.given_for.view == id.view;
  const bool lent = state_.given_for == id && !given.carried.empty();

  if (!core_.round.take_over(id, given.elements)) return;
  if (core_.trainer.training() == id) state_.absent = true;
  const TimePoint now = core_.now();
  const std::span<const float> zeros = std::as_const(*state_.zeros).span();
  if (lent) core_.rounds.contribute(0, given.carried, now);
  const std::size_t from = lent ? given.carried.size() : 0;
  if (from < zeros.size()) {
    core_.rounds.contribute(static_cast<std::int64_t>(from), zeros.subspan(from), now);
  }
  if (core_.options.rounds.reports) {
    core_.rounds.report(lent ? given.carried_report : known ? given.report : Bytes(), now);
  }
  report_late(id);
}

void LateRounds::report_late(const CollectiveId& id) {
  ++state_.rounds;
  if (state_.rounds > 1 && core_.now() < state_.reported_at + kLateTold) return;
  state_.reported_at = core_.now();
  core_.news
      .report(
          SwarmEventKind::kLate,
          fmt::format("round {} does not wait for this member, whose part comes after {:.3f} s; "
                      "so it was in {} rounds so far",
                      id.round.value(), to_seconds(state_.given.deadline), state_.rounds))
      .round = id.round;
}

void LateRounds::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
