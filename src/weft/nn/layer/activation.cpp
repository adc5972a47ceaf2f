#include "weft/nn/activation.h"

#include <stdexcept>

#include <fmt/format.h>

#include "weft/nn/layer/sizes.h"
#include "weft/op/arithmetic.h"
#include "weft/op/shape.h"
#include "weft/op/softmax.h"

namespace weft {

PReLU::PReLU(std::int64_t channels, double slope) {
  require_positive("prelu", {{"channels", channels}});
  register_parameter("weight", weight_, {channels}, ParameterKind::kWeight,
                     constant_initializer(slope));
}

Tensor PReLU::forward(const Tensor& x) {
  Tensor slope = weight_;
  if (slope.size() > 1) {
    if (x.ndim() < 2 || x.dim(1) != slope.size()) {
      throw std::invalid_argument(fmt::format("[prelu] expected x [N, {}, ...], got {}",
                                              slope.size(), to_string(x.shape())));
    }
    Shape shape = Shape::filled(x.ndim(), 1);
    shape[1] = slope.size();
    slope = reshape(slope, shape);
  }
  return relu(x) - slope * relu(-x);
}

Tensor SELU::forward(const Tensor& x) {
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  return elu(x, kAlpha) * kScale;
}

Tensor Hardsigmoid::forward(const Tensor& x) { return hardtanh(x * (1.0 / 6.0) + 0.5, 0.0, 1.0); }

Tensor Hardswish::forward(const Tensor& x) { return x * hardtanh(x * (1.0 / 6.0) + 0.5, 0.0, 1.0); }

Tensor Tanh::forward(const Tensor& x) { return tanh(x); }

Tensor Sigmoid::forward(const Tensor& x) { return sigmoid(x); }

Tensor Softmax::forward(const Tensor& x) { return softmax(x, axis_); }

Tensor LogSoftmax::forward(const Tensor& x) { return log_softmax(x, axis_); }

Tensor Flatten::forward(const Tensor& x) { return flatten(x, 1); }

}  // namespace weft
