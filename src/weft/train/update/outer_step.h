// OuterStep: moves the parameters by the mean pseudo-gradient of a round of local steps.
//
// Where it stands: LocalSteps, after the exchange -> OuterStep -> the arena's parameters. Its
// momentum is the arena's state "outer_momentum": hashed, checkpointed and sent to newcomers like
// the parameters, because it is equal at all members.
// Threads: the training thread's. Fails: never.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/array/arena/parameter_arena.h"

namespace weft {

struct OuterOptions {
  bool nesterov = true;  // false: without momentum
  double rate = 0.7;
  double momentum = 0.9;
};

class OuterStep {
 public:
  // Borrows `arena`, which must outlive this, and adds its state to it.
  OuterStep(ParameterArena& arena, const OuterOptions& options);

  // `sums`, of the arena's layout, are all members' pseudo-gradients (parameters before the inner
  // steps minus after) times their weights; `weight` is the sum of these. At 0 nothing moves.
  // With g the mean, r the rate, u the momentum:
  //   plain      p -= r g
  //   nesterov   m = u m + g,  p -= r (g + u m)
  // Buffers, such as running statistics, become the members' mean: p -= g.
  // IMPLEMENTATION: Douillard et al., "DiLoCo: distributed low-communication training of language
  // models", 2023, algorithm 1; Nesterov's momentum in the form of PyTorch's SGD. One pass over
  // memory.
  void apply(std::span<const float> sums, double weight);

  // The states of the arena that are equal at all members.
  std::vector<std::string> state_names() const;

 private:
  ParameterArena& arena_;
  const OuterOptions options_;
  Array momentum_;  // undefined: plain
};

// Whether the overlapped outer step, which applies a pseudo-gradient one round late, converges
// along every direction of a quadratic of which the inner steps of a round cover a part c in (0, 1]
// of the way: p' = p - r (c q + u m), where q are the parameters of the previous round. All roots
// of
//   z^3 - (1 + u) z^2 + (u + r c (1 + u)) z - r c u
// must be within the unit circle.
bool overlap_is_stable(const OuterOptions& options);

}  // namespace weft
