// MemberMomentum: a member sends the running mean of its gradients in place of its last one.
//
// With g this member's mean gradient of a round and b in (0, 1), it sends m := b m + (1 - b) g. The
// means of honest members lie closer together than their gradients do, so that a robust rule has
// less room to leave to liars: without it most rules lose to small lies that are repeated.
// IMPLEMENTATION: Karimireddy, He and Jaggi, "Learning from history for Byzantine robust
// optimization", ICML 2021, algorithm 2; Farhadkhani et al., "Byzantine machine learning made easy
// by resilient averaging of momentums", ICML 2022. m begins with 0. Cost: one pass over the
// gradients; memory: two vectors as long as they are.
//
// m is this member's own: the arena's state "member_momentum" is in its checkpoints, and in no
// hash, and no newcomer gets it. It changes when a round is applied, so that a round that was
// aborted and is run again begins from the same m.
//
// Where it stands: train_step, between the gradient and the exchange; TrainStep owns one. Threads:
// the training thread. Fails: never. A gradient with a value that is not finite is sent as it is
// and changes nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/array/arena/parameter_arena.h"
#include "weft/wire/ids.h"

namespace weft {

class MemberMomentum {
 public:
  // Borrows `arena`, which must outlive this, and adds its state to it. `decay` is b above.
  MemberMomentum(ParameterArena& arena, double decay);

  // What was prepared for a round before does not count any more.
  void begin(Round round);
  // Replaces the gradient of parameter `id`, which stands in the arena, by what is to be sent of
  // it. REQUIRES: once a round for each parameter.
  void replace(ParameterId id);
  // The round was applied: what was prepared for it becomes m. Another round drops it.
  void applied(Round round);
  // The parameters came from other members: what was gathered before led from others.
  void clear();

  // The arena's state that it has.
  static std::string state_name();

 private:
  ParameterArena& arena_;
  const float decay_;
  Array momentum_;
  std::vector<float> prepared_;  // m after the round, of the arena's layout
  std::optional<Round> round_;   // for which it was prepared
};

}  // namespace weft
