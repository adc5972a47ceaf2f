// max_pool2d: the largest value of each window; the gradient goes where that value was.
#include "weft/autograd/op_trace.h"
#include "weft/op/conv/max_pooling.h"
#include "weft/op/conv/pooling.h"

namespace weft {

Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options) {
  const Pool2dGeometry geometry = check_pool("max_pool2d", x, options);
  if (op_tracing()) {
    trace_attributes("max_pool2d",
                     {{"kernel", traced(options.kernel)},
                      {"stride", traced(geometry.stride)},
                      {"padding", traced(options.padding)},
                      {"ceil", {options.ceil_mode ? 1.0 : 0.0}},
                      {"count_include_pad", {options.count_include_pad ? 1.0 : 0.0}}});
  }
  return max_pooling(
      x, {"max_pool2d", "max_pool2d_gradient", max_pool2d_takes_bf16(x.array(), geometry),
          [=](const Array& images, bool with_winners) {
            return max_pool2d_forward(images, geometry, with_winners);
          },
          [=, shape = x.shape()](const Array& dy, const MaxPoolOutput& forward) {
            return max_pool2d_backward(dy, forward, shape, geometry);
          },
          [=](const Array& dx, const MaxPoolOutput& forward) {
            return max_pool2d_take(dx, forward, geometry);
          }});
}

static std::vector<OpSample> max_pool2d_samples() {
  return pool_samples(
      [](const Tensor& x, const Pool2dOptions& options) { return max_pool2d(x, options); },
      largest_of_window);
}
extern const OpDef max_pool2d_op = {"max_pool2d", max_pool2d_samples};

}  // namespace weft
