// run_events: what the run loop tells of measurements and of losses that are no numbers, as events.
//
// Where it stands: run loop -> here -> EventLog. Threads: pure. Fails: never.
#pragma once

#include "weft/train/event.h"
#include "weft/train/recipe.h"
#include "weft/train/step.h"
#include "weft/train/trainer.h"

namespace weft {

// "evaluation": the sums of the round after the last step.
Event evaluation_event(const Trainer& trainer, const RoundMetrics& sums);
// "validation": what round `report` belongs to has measured. REQUIRES: report.measured_step.
Event validation_event(const Trainer& trainer, const StepReport& report);
// "not_finite": the loss of `round` is not a number.
Event not_finite_event(Round round, const StepReport& report, const Recipe& recipe);
// "stopped": the loss on the test set was not smaller for too long.
Event stopped_event(const Trainer& trainer);

}  // namespace weft
