#include "weft/nn/linear.h"

#include "weft/nn/layer/sizes.h"
#include "weft/op/linear.h"

namespace weft {

Linear::Linear(std::int64_t inputs, std::int64_t outputs, bool bias) {
  require_positive("linear", {{"inputs", inputs}, {"outputs", outputs}});
  const Shape shape = {outputs, inputs};
  register_parameter("weight", weight_, shape, ParameterKind::kWeight,
                     default_weight_initializer());
  if (bias) {
    register_parameter("bias", bias_, {outputs}, ParameterKind::kBias,
                       default_bias_initializer(shape));
  }
}

Tensor Linear::forward(const Tensor& x) { return linear(x, weight_, bias_); }

Tensor Linear::forward_relu(const Tensor& x) {
  return linear(x, weight_, bias_, Activation::kRelu);
}

}  // namespace weft
