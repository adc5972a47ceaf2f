// SwarmCore: rounds as the training side begins and ends them, in time or late.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/core/swarm_core.h"

namespace weft {

static constexpr Duration kLateTold = std::chrono::seconds(10);

// --- The training side.

void SwarmCore::begin(const ViewId& view, Round round, std::int64_t elements) {
  if (elements < 0 || elements > options_.vector_elements_max) {
    outcome_ = failed_outcome(
        round, invalid_argument(fmt::format("round of {} elements: at most {}", elements,
                                            options_.vector_elements_max)));
    return;
  }
  const CollectiveId id{view, round};
  if (late_.early && late_.early->first == id) {
    outcome_ = std::move(late_.early->second);
    late_.early.reset();
  } else if (rounds_.open() && late_.opened == id) {
    late_.awaited = true;
  } else if (rounds_.open()) {
    outcome_ = failed_outcome(
        round, aborted(fmt::format("round {}: the view has changed", round.value())));
  } else {
    rounds_.begin(id, elements, now());
    late_.takes_input = rounds_.open();
    late_.has_input = false;
    open_elements_ = elements;
  }
  settle();
}

void SwarmCore::contribute(std::int64_t offset, std::span<const float> values) {
  // What comes now was computed: the next rounds may count on the training side again.
  late_.absent = false;
  if (late_.takes_input) {
    late_.has_input = true;
    rounds_.contribute(offset, values, now());
  }
  settle();
}

void SwarmCore::report(Bytes report) {
  if (late_.takes_input) {
    late_.has_input = true;
    rounds_.report(std::move(report), now());
  }
  settle();
}

void SwarmCore::cancel_round(const Status& why) {
  rounds_.cancel(why, now());
  settle();
}

void SwarmCore::stand_in(const ViewId& view, Round round, StandIn stand_in) {
  late_.given = std::move(stand_in);
  late_.given_for = {view, round};
  settle();
}

// --- Late rounds.

bool SwarmCore::may_stand_in() const {
  const bool works = is_member() && membership_.state() == MembershipState::kMember &&
                     !membership_.frozen() && has_state_ && failure_.ok() && view().size() > 1 &&
                     !view().yields_to && merging_.empty() && foreign_.empty();
  if (!works || late_.given.deadline <= Duration::zero()) return false;
  const Round next = rounds_.committed().next();
  if (rounds_.open()) {
    return late_.takes_input && !late_.has_input && open_elements_ == late_.given.elements;
  }
  // Only a round like those that the training side has seen: not an evaluation.
  if (rounds_.elements_elsewhere(next) != static_cast<std::uint64_t>(late_.given.elements)) {
    return false;
  }
  // The results that the training side has yet to apply must have room, or nobody could help it.
  const std::uint64_t lag = next.value() - trainer_round_.value();
  const std::uint64_t bytes = static_cast<std::uint64_t>(late_.given.elements) * sizeof(float);
  return lag <= 2 || lag * bytes <= options_.result_log_bytes_max;
}

void SwarmCore::settle_late() {
  late_.due = TimePoint::max();
  if (!may_stand_in()) return;
  const CollectiveId next{view().id, rounds_.committed().next()};
  if (late_.next != next) {
    late_.next = next;
    late_.since = now();
  }
  const bool busy = late_.absent && late_.training && late_.training->round < next.round;
  late_.due = busy ? now() : late_.since + late_.given.deadline;
  if (now() < late_.due) return;
  late_.due = TimePoint::max();
  enter_late(next);
}

void SwarmCore::enter_late(const CollectiveId& id) {
  const StandIn& given = late_.given;
  const auto elements = static_cast<std::size_t>(given.elements);
  if (!late_.zeros || late_.zeros->span().size() != elements) {
    late_.zeros = std::make_shared<FloatBuffer>(given.elements);
    std::ranges::fill(late_.zeros->span(), 0.0F);
  }
  // Shares may be others in another view, and what is said of them there is not true here.
  const bool known = late_.given_for.view == id.view;
  const bool lent = late_.given_for == id && !given.carried.empty();

  if (!rounds_.open()) {
    late_.opened = id;
    late_.awaited = false;
    rounds_.begin(id, given.elements, now());
    if (!rounds_.open()) return;
  }
  late_.takes_input = false;
  if (late_.training == id) late_.absent = true;
  const std::span<const float> zeros = std::as_const(*late_.zeros).span();
  if (lent) rounds_.contribute(0, given.carried, now());
  const std::size_t from = lent ? given.carried.size() : 0;
  if (from < zeros.size()) {
    rounds_.contribute(static_cast<std::int64_t>(from), zeros.subspan(from), now());
  }
  if (options_.rounds.reports) {
    rounds_.report(lent ? given.carried_report : known ? given.report : Bytes(), now());
  }
  ++late_.rounds;
  if (late_.rounds > 1 && now() < late_.told + kLateTold) return;
  late_.told = now();
  event(SwarmEventKind::kLate,
        fmt::format("round {} does not wait for this member, whose part comes after {:.3f} s; "
                    "so it was in {} rounds so far",
                    id.round.value(), to_seconds(given.deadline), late_.rounds))
      .round = id.round;
}

// --- Outcomes.

void SwarmCore::settle_outcome() {
  std::optional<RoundOutcome> outcome = rounds_.take_outcome();
  if (!outcome) return;
  late_.takes_input = false;
  const std::optional<CollectiveId> opened = std::exchange(late_.opened, std::nullopt);
  const bool is_committed = outcome->status.ok();
  lent_ = false;
  if (is_committed) {
    count_round(*outcome);
    measure_round(*outcome);
    keep_result(log_entry(*outcome));
  } else if (outcome->status.code() == Code::kAborted && outcome->took > Duration::zero() &&
             outcome->round > rounds_.committed() &&
             membership_.state() == MembershipState::kIsolated) {
    // Whether and by whom it is run again is not known yet.
    seconds_lost_ += to_seconds(outcome->took);
  } else if (outcome->status.code() == Code::kAborted && outcome->took > Duration::zero() &&
             outcome->round > rounds_.committed()) {
    ++rounds_rerun_;
    seconds_lost_ += to_seconds(outcome->took);
    SwarmEvent& rerun = event(SwarmEventKind::kRoundRerun,
                              fmt::format("round {} is run again: {:.2f} s lost",
                                          outcome->round.value(), to_seconds(outcome->took)));
    rerun.round = outcome->round;
    rerun.seconds = to_seconds(outcome->took);
  }
  if (!opened || late_.awaited) {
    late_.awaited = false;
    outcome_ = std::move(outcome);
  } else if (late_.training == opened) {
    late_.early = {*opened, *std::move(outcome)};
  }
  // Between two rounds, so that none has to be run again.
  if (is_committed) membership_.admit(now());
}

void SwarmCore::keep_result(ResultLog::Entry result) {
  const Round round = result.round;
  if (!log_.empty() && round <= log_.newest()) return;
  if (!log_.empty() && round != log_.newest().next()) log_.clear();
  // Joiners catch up from the results after their snapshot, a training side that was late from
  // those after its own.
  const std::optional<Round> snapshot = server_.oldest_snapshot();
  Round joiners = snapshot ? snapshot->next() : round;
  if (publishing_) joiners = std::min(joiners, published_->next());
  log_.need_from(std::min(joiners, has_state_ ? trainer_round_.next() : round));
  log_.add(std::move(result));
  server_.committed(now());
}

}  // namespace weft
