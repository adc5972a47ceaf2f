#include "weft/op/core/composed.h"

#include "weft/autograd/backward.h"
#include "weft/op/shape.h"

namespace weft {

void add_composed_gradients(const Composition& compose, std::span<const Array> values,
                            const Tensor& dy, const TensorGradients& dx) {
  std::vector<Tensor> inputs(values.size());
  std::vector<Tensor> wanted;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].defined()) continue;
    // A node of its own for each: two inputs may be the same tensor.
    inputs[i] = reshape(dx.input(static_cast<int>(i), values[i]), values[i].shape());
    if (dx.needs(static_cast<int>(i))) wanted.push_back(inputs[i]);
  }
  GradOptions options;
  options.grad_outputs = {dy};
  options.create_graph = true;
  options.allow_unused = true;
  const std::vector<Tensor> gradients = grad({compose(inputs)}, wanted, options);
  std::size_t next = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].defined() || !dx.needs(static_cast<int>(i))) continue;
    const Tensor& gradient = gradients[next++];
    if (gradient.defined()) dx.add(static_cast<int>(i), gradient);
  }
}

}  // namespace weft
