// adaptive_max_pool2d: the largest values of a given number of windows that cover the image; the
// gradient goes where they were.
#include "weft/autograd/op_trace.h"
#include "weft/op/conv/pooling.h"
#include "weft/op/core/half_operand.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/operands.h"

namespace weft {

Tensor adaptive_max_pool2d(const Tensor& x, const Pair& size) {
  check_adaptive_pool("adaptive_max_pool2d", x, size);
  if (is_half(x)) return cast(adaptive_max_pool2d(widened(x), size), x.dtype());
  MaxPoolOutput forward = adaptive_max_pool2d_forward(x.array(), size, recording({&x}));
  const auto scatter = [winners = forward.winners, shape = x.shape()](const Array& dy) {
    return adaptive_max_pool2d_backward(dy, winners, shape);
  };
  if (op_tracing()) {
    trace_attributes("adaptive_max_pool2d", {{"size", traced(size)}});
  }
  return record(
      "adaptive_max_pool2d", forward.y, {&x},
      [scatter](const Array& dy, const InputGradients& dx) { dx.add(0, scatter(dy)); },
      [scatter, winners = forward.winners](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, linear_map("adaptive_max_pool2d_gradient", dy, scatter,
                             [=](const Array& g) { return adaptive_max_pool2d_take(g, winners); }));
      });
}

Tensor global_max_pool2d(const Tensor& x) { return adaptive_max_pool2d(x, {1, 1}); }

Tensor adaptive_max_pool1d(const Tensor& x, std::int64_t size) {
  return as_sequence(adaptive_max_pool2d(as_image("adaptive_max_pool1d", x), {1, size}));
}

static std::vector<OpSample> adaptive_max_pool2d_samples() {
  return adaptive_pool_samples(
      [](const Tensor& x, const Pair& size) { return adaptive_max_pool2d(x, size); },
      largest_of_window);
}
extern const OpDef adaptive_max_pool2d_op = {"adaptive_max_pool2d", adaptive_max_pool2d_samples};

}  // namespace weft
