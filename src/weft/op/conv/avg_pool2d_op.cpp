// avg_pool2d: the mean of each window, the gradient is spread evenly.
#include "weft/autograd/op_trace.h"
#include "weft/op/conv/pooling.h"
#include "weft/op/core/half_operand.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/operands.h"

namespace weft {

Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options) {
  const Pool2dGeometry geometry = check_pool("avg_pool2d", x, options);
  if (is_half(x)) return cast(avg_pool2d(widened(x), options), x.dtype());
  if (op_tracing()) {
    trace_attributes("avg_pool2d",
                     {{"kernel", traced(options.kernel)},
                      {"stride", traced(geometry.stride)},
                      {"padding", traced(options.padding)},
                      {"ceil", {options.ceil_mode ? 1.0 : 0.0}},
                      {"count_include_pad", {options.count_include_pad ? 1.0 : 0.0}}});
  }
  return record(
      "avg_pool2d", avg_pool2d_forward(x.array(), geometry), {&x},
      [geometry, shape = x.shape()](const Array& dy, const InputGradients& dx) {
        dx.add(0, avg_pool2d_backward(dy, shape, geometry));
      },
      [geometry, shape = x.shape()](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, linear_map(
                      "avg_pool2d_gradient", dy,
                      [=](const Array& g) { return avg_pool2d_backward(g, shape, geometry); },
                      [=](const Array& g) { return avg_pool2d_forward(g, geometry); }));
      });
}

static std::vector<OpSample> avg_pool2d_samples() {
  return pool_samples(
      [](const Tensor& x, const Pool2dOptions& options) { return avg_pool2d(x, options); },
      mean_of_window);
}
extern const OpDef avg_pool2d_op = {"avg_pool2d", avg_pool2d_samples};

}  // namespace weft
