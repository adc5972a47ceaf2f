// The checks of what is asked for; the work is in sweep.cpp.
#include "weft/autograd/backward.h"

#include <stdexcept>
#include <string>

#include "weft/autograd/in_place_history.h"
#include "weft/autograd/node.h"
#include "weft/autograd/sweep.h"

namespace weft {
namespace {

// The gradient to start from for `output`.
Tensor seed_of(const char* call, const Tensor& output, const Tensor& given) {
  if (!given.defined() && output.size() != 1) {
    throw std::invalid_argument(std::string("[") + call +
                                "] expected a loss of one element, got shape " +
                                to_string(output.shape()) + "; reduce it or give a gradient");
  }
  if (!given.defined())
    return Tensor(Array::full(output.shape(), 1.0, output.dtype(), output.device()));
  if (given.shape() != output.shape() || given.dtype() != output.dtype()) {
    throw std::invalid_argument(
        std::string("[") + call + "] expected a gradient of shape " + to_string(output.shape()) +
        " and type " + std::string(to_string(output.dtype())) + ", got " +
        to_string(given.shape()) + " " + std::string(to_string(given.dtype())));
  }
  return given;
}

// The same values in a layout that callers can read; under create_graph with their history.
Tensor plain_of(const Tensor& blocked) {
  return record(
      "strided", blocked.array().strided(), {&blocked},
      [](const Array& dy, const InputGradients& dx) { dx.add(0, dy); },
      [](const Tensor& dy, const TensorGradients& dx) { dx.add(0, dy); });
}

}  // namespace

void backward(const Tensor& output, const GradientSink& sink, const BackwardOptions& options) {
  if (!output.requires_grad()) {
    throw std::invalid_argument(
        "[backward] expected a loss that depends on a tensor with requires_grad, got one without "
        "history (was it made under NoGrad or detached?)");
  }
  update_history(output, "backward");
  const Tensor given = options.gradient.defined() ? Tensor(options.gradient) : Tensor();
  const Tensor seed = seed_of("backward", output, given);
  BackwardSweep sweep({.sink = &sink,
                       .overwrite = options.leaf_gradients == LeafGradients::kOverwrite,
                       .keep_graph = options.keep_graph,
                       .create_graph = options.create_graph});
  sweep.run(std::span(&output, 1), std::span(&seed, 1));
}

void backward(const Tensor& loss) { backward(loss, GradientSink(), BackwardOptions()); }

void backward(const Tensor& loss, const GradientSink& sink) {
  backward(loss, sink, BackwardOptions());
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         const GradOptions& options) {
  if (!options.grad_outputs.empty() && options.grad_outputs.size() != outputs.size()) {
    throw std::invalid_argument("[grad] expected a gradient for each of " +
                                std::to_string(outputs.size()) + " outputs, got " +
                                std::to_string(options.grad_outputs.size()));
  }
  for (const std::span<const Tensor> tensors : {outputs, inputs}) {
    for (const Tensor& tensor : tensors) update_history(tensor, "grad");
  }
  std::vector<Tensor> seeds;
  bool any_history = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor given = options.grad_outputs.empty() ? Tensor() : options.grad_outputs[i];
    seeds.push_back(seed_of("grad", outputs[i], given));
    any_history = any_history || outputs[i].requires_grad();
  }
  if (!any_history) {
    throw std::invalid_argument(
        "[grad] expected outputs that depend on a tensor with requires_grad, got none with a "
        "history (were they made under NoGrad or detached?)");
  }
  BackwardSweep sweep({.keep_graph = options.keep_graph, .create_graph = options.create_graph});
  std::vector<Tensor> gradients = sweep.gradients(outputs, seeds, inputs);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) {
      if (!gradients[i].array().is_strided()) gradients[i] = plain_of(gradients[i]);
      continue;
    }
    if (options.allow_unused) continue;
    throw std::invalid_argument(
        "[grad] expected inputs that an output depends on, got input " + std::to_string(i) +
        (inputs[i].requires_grad() ? ", which none does" : ", which requires no gradient") +
        "; allow_unused gives an undefined gradient instead");
  }
  return gradients;
}

}  // namespace weft
