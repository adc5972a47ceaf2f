// Members of a simulated group that train on false samples, as a DataAttack has it.
//
// Threads: one owner. Fails: as said.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/base/status.h"
#include "weft/sim/liar/liar.h"
#include "weft/train/run/trainer.h"
#include "weft/train/step/mix_learner.h"

namespace weft::sim {

// The last `liars.count` of the members do, where that is an attack on data; others are left alone.
// kInvalidArgument where the data do not fit the attack. Borrows both, which must outlive the run.
Status poison_members(const LiarOptions& liars, std::uint32_t members, Trainer& trainer,
                      MixTrainedLearner& learner);

// With what share of the samples of the test set that it is for the attack succeeds; nothing
// without an attack on data, or without such samples. Measures the model that is in the trainer.
std::optional<double> attack_rate(const LiarOptions& liars, Trainer& trainer);

}  // namespace weft::sim
