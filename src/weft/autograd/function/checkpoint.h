// checkpoint(): saves memory by computing a part of a model twice.
//
//   Tensor y = checkpoint([&](std::span<const Tensor> in) { return block.forward(in[0]); }, {x});
//
// The forward keeps only the inputs. The backward runs `function` again, with history, and sweeps
// that history at once: only one checkpoint's insides are alive at a time. Parameters that the
// function uses (leaves it captures) get their gradients as if there were no checkpoint, and the
// sink is called for them after their last use. Checkpoints nest.
//
// The function must compute the same both times. State from outside (the step of dropout's masks)
// is restored for the second run by register_recomputed_state; code with side effects that must
// happen once (running statistics) checks recomputing().
// Threads: as backward().
// Fails: std::invalid_argument if the function uses a tensor with a history that is not among its
// inputs, or returns another shape the second time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "weft/autograd/tensor.h"

namespace weft {

using CheckpointFunction = std::function<Tensor(std::span<const Tensor>)>;

Tensor checkpoint(const CheckpointFunction& function, std::span<const Tensor> inputs);
inline Tensor checkpoint(const CheckpointFunction& function, const std::vector<Tensor>& inputs) {
  return checkpoint(function, std::span<const Tensor>(inputs));
}

// Whether the function of a checkpoint runs for the second time on this thread.
bool recomputing();

// Restores a state until the returned object is destroyed.
using RestoreState = std::function<std::shared_ptr<void>()>;
// Each checkpoint calls `capture`, which returns a function that restores the present state. The
// registration is permanent.
void register_recomputed_state(std::function<RestoreState()> capture);

}  // namespace weft
