// adaptive_avg_pool2d: the means of a given number of windows that cover the image.
#include "weft/autograd/op_trace.h"
#include "weft/op/conv/pooling.h"
#include "weft/op/core/half_operand.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/operands.h"

namespace weft {

Tensor adaptive_avg_pool2d(const Tensor& x, const Pair& size) {
  check_adaptive_pool("adaptive_avg_pool2d", x, size);
  if (is_half(x)) return cast(adaptive_avg_pool2d(widened(x), size), x.dtype());
  if (op_tracing()) {
    trace_attributes("adaptive_avg_pool2d", {{"size", traced(size)}});
  }
  return record(
      "adaptive_avg_pool2d", adaptive_avg_pool2d_forward(x.array(), size), {&x},
      [shape = x.shape()](const Array& dy, const InputGradients& dx) {
        dx.add(0, adaptive_avg_pool2d_backward(dy, shape));
      },
      [size, shape = x.shape()](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, linear_map(
                      "adaptive_avg_pool2d_gradient", dy,
                      [=](const Array& g) { return adaptive_avg_pool2d_backward(g, shape); },
                      [=](const Array& g) { return adaptive_avg_pool2d_forward(g, size); }));
      });
}

Tensor global_avg_pool2d(const Tensor& x) { return adaptive_avg_pool2d(x, {1, 1}); }

Tensor adaptive_avg_pool1d(const Tensor& x, std::int64_t size) {
  return as_sequence(adaptive_avg_pool2d(as_image("adaptive_avg_pool1d", x), {1, size}));
}

static std::vector<OpSample> adaptive_avg_pool2d_samples() {
  return adaptive_pool_samples(
      [](const Tensor& x, const Pair& size) { return adaptive_avg_pool2d(x, size); },
      mean_of_window);
}
extern const OpDef adaptive_avg_pool2d_op = {"adaptive_avg_pool2d", adaptive_avg_pool2d_samples};

}  // namespace weft
