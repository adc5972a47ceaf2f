// backward() and grad(): compute the gradients of a loss for the tensors that it depends on.
//
// Where it stands: the train step calls backward(); its sink feeds the bucketer, so that the
// exchange of the last layers' gradients runs while the first layers' are still being computed.
// The sweep is a loop, O(operations + uses), for any depth. An operation runs once all uses
// of its output have been counted; the order depends on the graph alone, so gradients and the
// order of the sink's calls are the same in every run and for any thread count.
// Threads: a graph belongs to one thread at a time; leaves may be shared by graphs of one thread.
// Fails: std::invalid_argument if the loss has no history, is not a scalar, or its history was
// consumed, if a saved value was written in place, or if create_graph meets an operation without a
// second gradient.
#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <vector>

#include "weft/autograd/tensor.h"

namespace weft {

// Gets a parameter's gradient. The array is the leaf's grad(); it may be read until the leaf's
// next backward. In a captured graph each replay calls a copy of the sink again.
using GradientSink = std::function<void(ParameterId, const Array& gradient)>;

enum class LeafGradients {
  kAccumulate,  // added to what the leaf holds
  // Replaces what the leaf holds, which saves zeroing and reading it. Leaves that the loss does not
  // depend on keep their gradients: the sink is called for those that were written.
  kOverwrite,
};

struct BackwardOptions {
  // The gradient to start from, of the output's shape; undefined: ones, for a scalar loss.
  Array gradient = {};
  LeafGradients leaf_gradients = LeafGradients::kAccumulate;
  // Keep the saved buffers for another sweep. Otherwise they are freed as they are used.
  bool keep_graph = false;
  // Records how the gradients are computed, so that they can be differentiated again:
  // Tensor::grad_tensor() has a history then. Keeps the graph.
  bool create_graph = false;
};

void backward(const Tensor& loss);
// Calls `sink` for each leaf with a parameter id as soon as its gradient is complete.
void backward(const Tensor& loss, const GradientSink& sink);
void backward(const Tensor& output, const GradientSink& sink, const BackwardOptions& options);

struct GradOptions {
  // One for each output, of its shape; undefined or none at all: ones, for outputs of one element.
  std::vector<Tensor> grad_outputs = {};
  // The gradients have a history, so that they can be differentiated again. Keeps the graph.
  bool create_graph = false;
  bool keep_graph = false;
  // An input that no output depends on gets an undefined gradient instead of throwing.
  bool allow_unused = false;
};

// The gradient of the sum of grad_outputs * outputs for each of `inputs`, which may be leaves or
// outputs of operations. Touches no leaf's grad() and calls no sink; works only along the way from
// the outputs to the inputs.
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         const GradOptions& options = {});
inline std::vector<Tensor> grad(const std::vector<Tensor>& outputs,
                                const std::vector<Tensor>& inputs,
                                const GradOptions& options = {}) {
  return grad(std::span<const Tensor>(outputs), std::span<const Tensor>(inputs), options);
}
// The gradient of one output for one input. (A template so that lists in braces mean vectors.)
template <std::same_as<Tensor> T>
T grad(const T& output, const T& input, const GradOptions& options = {}) {
  return grad(std::span<const Tensor>(&output, 1), std::span<const Tensor>(&input, 1), options)[0];
}

}  // namespace weft
