// backward(): carries the gradient of a loss to every leaf that it depends on.
//
// Where it stands: the train step calls it; its sink feeds the bucketer, so that the exchange of
// the last layers' gradients runs while the first layers' are still being computed.
// The sweep is a loop, O(operations + uses), whatever the depth. An operation runs once all uses
// of its output have been counted; the order depends on the graph alone, so gradients and the
// order of the sink's calls are the same in every run and for any thread count.
// Threads: a graph belongs to one thread at a time; leaves may be shared by graphs of one thread.
// Fails: std::invalid_argument if the loss has no history, is no scalar, or was used up.
#pragma once

#include <functional>

#include "weft/autograd/tensor.h"

namespace weft {

// Gets a parameter's gradient. The array is the leaf's grad(); it may be read until the leaf's
// next backward.
using GradientSink = std::function<void(ParameterId, const Array& gradient)>;

enum class LeafGradients {
  kAccumulate,  // added to what the leaf holds
  // Replaces what the leaf holds, which saves zeroing and reading it. Leaves that the loss does
  // not depend on keep what they hold: the sink tells which were written.
  kOverwrite,
};

struct BackwardOptions {
  // The gradient to start from, of the output's shape; undefined: ones, for a scalar loss.
  Array gradient;
  LeafGradients leaf_gradients = LeafGradients::kAccumulate;
  // Keep the saved buffers for another sweep. Otherwise they are freed as they are used.
  bool keep_graph = false;
};

void backward(const Tensor& loss);
// Calls `sink` for each leaf with a parameter id as soon as its gradient is complete.
void backward(const Tensor& loss, const GradientSink& sink);
void backward(const Tensor& output, const GradientSink& sink, const BackwardOptions& options);

}  // namespace weft
