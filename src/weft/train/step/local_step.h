// LocalSteps: rounds of many optimizer steps for one exchange (local SGD, DiLoCo).
//
// In a round each member takes `steps` inner steps by itself, from the parameters that all share,
// on its own shard of the global batch of each step. What is exchanged is the pseudo-gradient, the
// parameters before minus those after, weighted by the samples behind it; OuterStep applies the
// mean. Buffers such as a batch norm's running statistics travel with it and become the mean.
//
// Between two calls the arena holds the parameters that all members share, also after an abort: the
// inner steps' result is kept as a *phase*, and a round that is run again runs its exchange alone.
// The state of the inner optimizer (and the f16 loss scale) is this member's own: it is in no hash
// and no newcomer gets it, but it is in this member's checkpoints.
//
// Overlapped: while the pseudo-gradient of round r is on its way, the phase of round r + 1 is
// computed, from parameters that do not contain r yet. A member that came in between has no phase
// for its first round: it contributes nothing (weight 0) and computes the next, so that nobody
// waits.
//
// Where it stands: a RoundStep. IMPLEMENTATION: Stich, "Local SGD converges
// fast and communicates little", ICLR 2019; Douillard et al., "DiLoCo", 2023; the overlapped form:
// Keiblinger et al., "Prime Collective Communications Library", 2025, asynchronous DiLoCo. Memory
// beside the model: twice the parameters, thrice when overlapped, and the outer momentum.
// Threads: the training thread. Fails: as train_step.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/array/arena/parameter_arena.h"
#include "weft/base/status.h"
#include "weft/train/exchange/round_exchange.h"
#include "weft/train/report/round_report.h"
#include "weft/train/step/round_step.h"
#include "weft/train/step/step.h"
#include "weft/train/update/outer_step.h"

namespace weft {

// Steps [begin, end), counted from 0.
struct StepRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

// The steps of round `round` >= 1 of a run of `total_steps`, `steps` a round; the last may be
// shorter, and those behind it are empty.
StepRange steps_of_round(Round round, std::int64_t steps, std::int64_t total_steps);
// The round after which `steps_done` steps are done.
Round round_after(std::int64_t steps_done, std::int64_t steps);

struct LocalOptions {
  std::int64_t steps = 1;  // inner steps of a round
  std::int64_t total_steps = 1;
  OuterOptions outer;
  bool overlap = false;
};

class LocalSteps final : public RoundStep {
 public:
  // Borrows `arena`, which must outlive this. Adds the outer step's state to it.
  LocalSteps(ParameterArena& arena, const LocalOptions& options);

  // Takes this member's part in round `turn.round` and applies the mean. Learning rates are those
  // of the steps, which the schedule counts as usual.
  Result<StepReport> run(const StepParts& parts, const Turn& turn,
                         RoundExchange& exchange) override;
  // Applies what a round came to, whether this member took part in it or not.
  Result<StepReport> apply(const StepParts& parts, const Turn& turn,
                           const RoundResult& result) override;
  // The parameters came from other members: own phases led from others.
  void adopted() override;
  // All members have moved the parameters alike, and begin anew from there.
  void restarted() override;

  // The states of the arena that are equal at all members.
  std::vector<std::string> shared_states() const override { return outer_.state_names(); }
  // Inner steps move the parameters.
  bool rests() const override { return false; }

  // What one member has done for a round.
  struct Phase {
    std::vector<float> vector;  // weighted pseudo-gradient
    RoundReport own;
  };
  // What is one member's own between two calls, beside the states of the arena that are not shared:
  // for a program that lets one model play several members (weft/sim). Takes it out, or puts it in.
  struct Own {
    std::map<Round, Phase> phases;
    bool in_step = true;
  };
  Own take_own() { return {std::exchange(phases_, {}), in_step_}; }
  void put_own(Own own) {
    phases_ = std::move(own.phases);
    in_step_ = own.in_step;
  }

 private:
  StepRange steps_of(Round round) const {
    return steps_of_round(round, options_.steps, options_.total_steps);
  }
  // Planned samples of all members together.
  double planned_samples(const StepParts& parts, Round round) const;
  Status ensure_phase(const StepParts& parts, const Turn& turn, Round round);
  Result<Phase> compute(const StepParts& parts, const Turn& turn, Round round);
  Status take_steps(const StepParts& parts, const Turn& turn, StepRange range, RoundReport& own);
  Phase empty_phase();

  ParameterArena& arena_;
  const LocalOptions options_;
  OuterStep outer_;
  std::map<Round, Phase> phases_;
  std::vector<float> anchor_;  // the shared parameters, while inner steps move the arena's
  std::vector<std::vector<float>> free_;
  // Overlapped: no phase was computed yet, and the parameters are those the others begin with.
  bool in_step_ = true;
};

}  // namespace weft
