// TrainStep: rounds of one optimizer step, whose gradients all members sum; see step.h. Where a
// rule makes one of them, members may send a running mean of theirs (MemberMomentum).
//
// Where it stands: a RoundStep. Threads and failures: as RoundStep.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/array/arena/parameter_arena.h"
#include "weft/base/status.h"
#include "weft/train/step/round_step.h"
#include "weft/train/update/member_momentum.h"

namespace weft {

class TrainStep final : public RoundStep {
 public:
  // Borrows `arena`, which must outlive this. With a `momentum` above 0, which is below 1, members
  // send that of their gradients, and its state is added to the arena.
  explicit TrainStep(ParameterArena& arena, double momentum = 0) : arena_(arena) {
    if (momentum > 0) momentum_.emplace(arena, momentum);
  }

  Result<StepReport> run(const StepParts& parts, const Turn& turn,
                         RoundExchange& exchange) override {
    return train_step(with_momentum(parts), turn, exchange);
  }
  Result<StepReport> apply(const StepParts& parts, const Turn& turn,
                           const RoundResult& result) override {
    return apply_step(with_momentum(parts), turn, result);
  }
  void adopted() override {
    if (momentum_) momentum_->clear();
  }
  void restarted() override {
    if (momentum_) momentum_->clear();
  }
  std::vector<std::string> shared_states() const override {
    std::vector<std::string> names = arena_.state_names();
    if (momentum_) std::erase(names, MemberMomentum::state_name());
    return names;
  }
  bool rests() const override { return true; }

 private:
  StepParts with_momentum(const StepParts& parts) {
    StepParts with = parts;
    if (momentum_) with.momentum = &*momentum_;
    return with;
  }

  const ParameterArena& arena_;
  std::optional<MemberMomentum> momentum_;
};

}  // namespace weft
