// adaptive_max_pool2d: the largest values of a given number of windows that cover the image; the
// gradient goes where they were.
#include "weft/autograd/op_trace.h"
#include "weft/op/conv/max_pooling.h"
#include "weft/op/conv/pooling.h"

namespace weft {

Tensor adaptive_max_pool2d(const Tensor& x, const Pair& size) {
  check_adaptive_pool("adaptive_max_pool2d", x, size);
  if (op_tracing()) {
    trace_attributes("adaptive_max_pool2d", {{"size", traced(size)}});
  }
  return max_pooling(x, {"adaptive_max_pool2d", "adaptive_max_pool2d_gradient",
                         adaptive_max_pool2d_takes_bf16(x.array(), size),
                         [=](const Array& images, bool with_winners) {
                           return adaptive_max_pool2d_forward(images, size, with_winners);
                         },
                         [shape = x.shape()](const Array& dy, const MaxPoolOutput& forward) {
                           return adaptive_max_pool2d_backward(dy, forward, shape);
                         },
                         adaptive_max_pool2d_take});
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
