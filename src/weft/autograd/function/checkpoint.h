// checkpoint(): saves memory by computing a part of a model twice.
//
//   Tensor y = checkpoint([&](std::span<const Tensor> in) { return block.forward(in[0]); }, {x});
//
// The forward keeps nothing but the inputs. The backward runs `function` again, with history, and
// goes through what it gets at once: only one checkpoint's insides are alive at a time. Parameters
// that the function uses (leaves it captures) get their gradients as if there were no checkpoint,
// and are given to the sink when their last use is done. Checkpoints nest.
//
// The function must compute the same both times. State that the surroundings give (the step of
// dropout's masks) is put back for the second run by register_recomputed_state; side effects that
// must happen once (running statistics) ask recomputing().
// Threads: as backward().
// Fails: std::invalid_argument if the function uses a tensor with a history that is not among its
// inputs, or gives another shape the second time.
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

// Puts a state back; it holds until what is returned dies.
using RestoreState = std::function<std::shared_ptr<void>()>;
// `capture` is called by each checkpoint and gives how to put back what is now. For good.
void register_recomputed_state(std::function<RestoreState()> capture);

}  // namespace weft
