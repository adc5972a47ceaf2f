// MixStep: a piece of work of a member of a method of loose exchange, by the recipe's local update.
//
// The turn brings the model to work on. What its steps make of it goes to the others, and the state
// becomes the model that the member works on next, when that is there; so the state between rounds
// is never one that only this member's steps have made, unless the method says so. What the
// optimizer remembers stays with the member, and is no part of the state that is hashed.
//
// Where it stands: a RoundStep. Threads: the training thread. Fails: as the exchange and the local
// update do; the arena then holds what it held before.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/step/mix_learner.h"
#include "weft/train/step/round_step.h"

namespace weft {

class MixStep final : public RoundStep {
 public:
  explicit MixStep(const Recipe& recipe) : recipe_(recipe) {}

  Result<StepReport> run(const StepParts& parts, const Turn& turn,
                         RoundExchange& exchange) override;
  // Adopts the last model of the run.
  Result<StepReport> apply(const StepParts& parts, const Turn& turn,
                           const RoundResult& result) override;
  void adopted() override {}
  void restarted() override {}
  std::vector<std::string> shared_states() const override { return {}; }
  // Its own steps move the arena's parameters meanwhile.
  bool rests() const override { return false; }

 private:
  const Recipe recipe_;
  std::unique_ptr<MixTrainedLearner> learner_;
  std::uint64_t steps_ = 0;  // this member's, over all its work
};

}  // namespace weft
