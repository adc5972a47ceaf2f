// LossScale: keeps f16 gradients between underflow and overflow.
//
// The loss is multiplied by the scale before backward() and each gradient divided by it when it
// is complete. A step whose gradients are not all finite is skipped and the scale is halved; after
// kGoodSteps other steps in a row it is doubled. The scale is a power of two times its first value,
// so without under- or overflow it changes no bit of an f32 gradient.
// IMPLEMENTATION: Micikevicius et al., "Mixed precision training", ICLR 2018, section 3.2.
//
// Where it stands: train step. The scale and the count are in the arena with the optimizer's state:
// hashes, checkpoints and newcomers include them. The decision depends on the sums of all members,
// so it is the same at each.
// Threads: the training thread.
#pragma once

#include <cstdint>
#include <span>

#include "weft/array/arena/parameter_arena.h"
#include "weft/autograd/tensor.h"

namespace weft {

class LossScale {
 public:
  static constexpr std::int64_t kGoodSteps = 2000;
  static constexpr double kMax = 1 << 24;

  // Adds its state to `arena`. REQUIRES: 1 <= first <= kMax.
  LossScale(ParameterArena& arena, double first);

  double value() const;
  // `loss`, a scalar, times the scale of the moment, also where a captured step is replayed.
  Tensor scaled(const Tensor& loss) const;
  // Takes the scale out of a gradient.
  void unscale(std::span<float> gradient) const;
  // Whether a step with these gradients is to be taken; sets the scale of the next one.
  bool update(std::span<const float> gradients);

 private:
  Array scale_;       // {}, a view of the state
  Array good_steps_;  // {1}, likewise: since the scale has changed
};

}  // namespace weft
