// TrainStep: rounds of one optimizer step, whose gradients all members sum; see step.h.
//
// Where it stands: a RoundStep. Threads and failures: as RoundStep.
#pragma once

#include "weft/array/arena/parameter_arena.h"
#include "weft/base/status.h"
#include "weft/train/step/round_step.h"

namespace weft {

class TrainStep final : public RoundStep {
 public:
  // Borrows `arena`, which must outlive this.
  explicit TrainStep(const ParameterArena& arena) : arena_(arena) {}

  Result<StepReport> run(const StepParts& parts, const Turn& turn,
                         RoundExchange& exchange) override {
    return train_step(parts, turn, exchange);
  }
  Result<StepReport> apply(const StepParts& parts, const Turn& turn,
                           const RoundResult& result) override {
    return apply_step(parts, turn, result);
  }
  // Nothing outlasts a round but the state.
  void adopted() override {}
  void restarted() override {}
  std::vector<std::string> shared_states() const override { return arena_.state_names(); }
  bool rests() const override { return true; }

 private:
  const ParameterArena& arena_;
};

}  // namespace weft
