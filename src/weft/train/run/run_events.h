// run_events: events of the run loop about measurements and about losses that are not numbers.
//
// Where it stands: run loop -> here -> EventLog. Threads: pure. Fails: never.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/base/time.h"
#include "weft/train/event/event.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/run/summary.h"
#include "weft/train/run/trainer.h"
#include "weft/train/step/step.h"

namespace weft {

// What a round of a member that averages with neighbours says of them, and its summary.
void add_mixing(Event& event, const Mixing& mixing);
void add_mixing(Summary& summary, const Mixing& mixing);
// "evaluation": the sums of the round after the last step.
Event evaluation_event(const Trainer& trainer, const ComputedSums& sums);
// "validation": what round `report` belongs to has measured. REQUIRES: report.measured_step.
Event validation_event(const Trainer& trainer, const StepReport& report);
// "not_finite": the loss of `round` is not a number.
Event not_finite_event(Round round, const StepReport& report, const Recipe& recipe);
// "measuring": how far a measurement of the test set is, where it takes long.
class MeasuringNews {
 public:
  // `done` of `all` samples are measured; 0 where it begins.
  std::optional<Event> hear(std::int64_t done, std::int64_t all, TimePoint now);

 private:
  TimePoint since_;
  TimePoint due_;
};
// "stopped": the loss on the test set was not smaller for too long.
Event stopped_event(const Trainer& trainer);

}  // namespace weft
