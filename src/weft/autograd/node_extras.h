// NodeExtras: what few nodes have: hooks, kept gradients, gradients with a history. For
// autograd/*.cpp alone.
#pragma once

#include <memory>
#include <string>

#include "weft/autograd/node.h"

namespace weft::internal {

struct NodeExtras {
  std::shared_ptr<HookList<GradientHook>> hooks;
  std::shared_ptr<HookList<AccumulatedHook>> accumulated_hooks;
  // For a leaf: set when a backward has written its gradient (leaf_watch.h).
  std::shared_ptr<bool> written;
  // For an operation's output: keep the gradient of each sweep in `kept`.
  bool retains = false;
  Tensor kept;
  // For a leaf: its gradient with history, if a backward with create_graph made it.
  Tensor history;

  // Where an operation was recorded under an AnomalyMode (set_call_site()).
  std::string call_site;

  // In a sweep that makes a graph: the gradient so far.
  Tensor gradient;
  // The sweep that returns the gradient of this as its result, and the result.
  std::uint64_t wanted_by = 0;
  Tensor captured;
  // For a leaf whose gradient the running sweep collects separately: where it keeps the leaf's old
  // gradient.
  std::ptrdiff_t held = -1;
};

}  // namespace weft::internal
