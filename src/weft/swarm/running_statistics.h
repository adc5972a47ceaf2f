// RunningStatistics: gives members that split a batch the same running statistics.
//
// A forward pass writes the buffers of a model (a batch norm's running mean and variance) from its
// own shard. The vector of a round contains their changes in the unused places of their gradients,
// weighted by the shard's share of the batch; every member adds the mean change. Until then the
// arena holds the shared statistics, so that a round can be run again.
//
// Where it stands: train step. Threads: the training thread. Fails: never.
#pragma once

#include <span>
#include <vector>

#include "weft/array/arena/parameter_arena.h"

namespace weft {

class RunningStatistics {
 public:
  // Borrows `arena`, which must outlive this, and remembers its buffers. Cheap where it has none.
  explicit RunningStatistics(ParameterArena& arena);

  // After forward: `weight` times what changed goes into the gradients' places of the entries(),
  // and the arena's values are those of before.
  void hand_over(double weight);
  const std::vector<int>& entries() const { return entries_; }

  // Applies the changes of a whole round: `sums` has the arena's layout; `weight` is that of all
  // members together. With weight 0 nothing changes.
  static void apply(ParameterArena& arena, std::span<const float> sums, double weight);
  // Sets their places in a vector of gradients to 0: no gradients.
  static void clear(const ParameterArena& arena, std::span<float> gradients);

 private:
  ParameterArena& arena_;
  std::vector<int> entries_;
  std::vector<float> before_;  // one after the other
};

}  // namespace weft
