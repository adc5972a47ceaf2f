#include "weft/train/run/run_events.h"

#include <chrono>

#include <fmt/format.h>

namespace weft {
namespace {

void add_bits(Event& event, const Trainer& trainer, double loss) {
  if (const auto bits = trainer.bits_per_character(loss)) event.with("bits_per_character", *bits);
}

constexpr Duration kMeasuringQuiet = std::chrono::milliseconds(500);
constexpr Duration kMeasuringInterval = std::chrono::seconds(1);

}  // namespace

std::optional<Event> MeasuringNews::hear(std::int64_t done, std::int64_t all, TimePoint now) {
  if (done == 0) {
    since_ = now;
    due_ = now + kMeasuringQuiet;
  }
  // The end is told by what was measured.
  if (now < due_ || done == all) return std::nullopt;
  due_ = now + kMeasuringInterval;
  return Event("measuring")
      .with("samples", done)
      .with("of", all)
      .with("seconds", to_seconds(now - since_));
}

void add_mixing(Event& event, const Mixing& mixing) {
  event.with("neighbours", mixing.neighbours)
      .with("mixed", mixing.mixed)
      .with("distance", mixing.distance);
}

void add_mixing(Summary& summary, const Mixing& mixing) {
  MixingSummary& sum = summary.mixing ? *summary.mixing : summary.mixing.emplace();
  sum.members = mixing.members;
  sum.neighbours = mixing.neighbours;
  sum.distance = mixing.distance;
  sum.common = mixing.common;
  sum.missed += mixing.neighbours - mixing.mixed;
}

Event evaluation_event(const Trainer& trainer, const ComputedSums& sums) {
  Event event("evaluation");
  event.with("samples", static_cast<std::int64_t>(sums.samples))
      .with("accuracy", sums.accuracy())
      .with("loss", sums.loss);
  add_bits(event, trainer, sums.loss);
  if (sums.errors.has_value()) {
    event.with("mae", sums.errors->mean_absolute(sums.labels))
        .with("r2", sums.errors->r2(sums.labels));
  }
  return event;
}

Event validation_event(const Trainer& trainer, const StepReport& report) {
  const ValidationSums& sums = report.metrics.validation;
  Event event("validation");
  event.with("step", report.measured_step.value_or(0))
      .with("samples", static_cast<std::int64_t>(sums.samples))
      .with("accuracy", sums.labels > 0 ? sums.correct / sums.labels : 0.0)
      .with("loss", sums.loss);
  add_bits(event, trainer, sums.loss);
  event.with("best", report.best).with("best_step", trainer.validation().best_step());
  return event;
}

Event not_finite_event(Round round, const StepReport& report, const Recipe& recipe) {
  const bool own = !report.own_finite;
  return Event("not_finite")
      .with("round", round.value())
      .with("own", own)
      .with("text", fmt::format("the loss of round {} is not a number, {}; look at the learning "
                                "rate and the data; {}",
                                round.value(),
                                own ? "that of this peer's part as well"
                                    : "though that of this peer's part is: it came from another",
                                recipe.run.on_not_finite == "stop"
                                    ? "the run stops, as run.on_not_finite says"
                                    : "no checkpoint takes the place of one with numbers"));
}

Event stopped_event(const Trainer& trainer) {
  const Validation& seen = trainer.validation();
  return Event("stopped")
      .with("step", trainer.steps_done())
      .with("text",
            fmt::format("the run stops after step {}, as run.early_stop_patience says: {} "
                        "measurements in a row have brought no smaller loss on the test set than "
                        "the {} after step {}",
                        trainer.steps_done(), seen.since_best(), loss_text(seen.best_loss()),
                        seen.best_step()));
}

}  // namespace weft
