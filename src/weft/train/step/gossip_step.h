// gossip_step: one step of a member that averages with neighbours instead of summing with all.
//
// D-PSGD: x_i := sum_j W_ij x_j - (optimizer's step with the gradient at x_i before the mix). The
// parameters are on their way to the neighbours while the gradient is computed. Each member draws
// its own batches: the whole run.global_batch in each step, from its own place in the order of
// samples, so that equal members would not compute equal gradients. What the optimizer remembers
// stays with the member. Buffers such as running statistics travel with the parameters; what a
// forward pass changed in them is added to the mean.
//
// The learning rate is that of the round, which all members count alike; one that was left behind
// and jumps leaves steps out.
//
// Where it stands: GossipStep is a RoundStep. Threads: the training thread.
// Fails: kInvalidArgument where parameters are no numbers any more, and as the exchange does; the
// state is then that before the step, or the neighbours' mean.
// IMPLEMENTATION: Lian et al., "Can decentralized algorithms outperform centralized algorithms?",
// NeurIPS 2017, algorithm 1; with an optimizer other than plain SGD its step is taken from the
// mixed parameters, as Assran et al. do. Memory beside the model: one vector to mix into.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/array/arena/parameter_arena.h"
#include "weft/base/status.h"
#include "weft/train/exchange/round_exchange.h"
#include "weft/train/step/round_step.h"
#include "weft/train/step/step.h"

namespace weft {

// Copies f32 parameters of another member into the arena. kInternal where they are not as many.
Status adopt_parameters(ParameterArena& arena, const SharedBytes& state);
// |to - from| / |from|; 0 where that is 0.
double relative_distance(std::span<const float> from, std::span<const float> to);

// The step of `self` in round 1: members begin at places of the order of samples that are far
// apart.
std::int64_t gossip_first_step(const PeerId& self);

// What member `self` computes in the round of step `step`, from 0, with the parameters in the
// arena. Leaves its gradients there; forward passes may change the arena's buffers.
Result<RoundReport> gossip_gradient(const StepParts& parts, const PeerId& self, std::int64_t step);

// The optimizer's step `step` from `mixed`, the mean of the neighbours' parameters. `before` are
// the arena's parameters before gossip_gradient(). False if gradients were not finite in f16; then
// only the mean has been taken over.
bool apply_gossip(const StepParts& parts, std::int64_t step, std::span<const float> gradients,
                  std::span<const float> before, std::span<const float> mixed);

class GossipStep final : public RoundStep {
 public:
  // Borrows `arena`, which must outlive this.
  explicit GossipStep(const ParameterArena& arena) : arena_(arena) {}

  // Takes this member's step `turn.round`. `turn.peers` names this member alone. `turn.state`,
  // where there is one, is the f32 parameters of another member to begin from (a newcomer's).
  Result<StepReport> run(const StepParts& parts, const Turn& turn,
                         RoundExchange& exchange) override;
  // kInternal: no other member's round is this one's.
  Result<StepReport> apply(const StepParts& parts, const Turn& turn,
                           const RoundResult& result) override;
  void adopted() override {}
  void restarted() override {}
  std::vector<std::string> shared_states() const override { return arena_.state_names(); }
  // A newcomer's turn begins with other parameters.
  bool rests() const override { return false; }

 private:
  const ParameterArena& arena_;
};

}  // namespace weft
