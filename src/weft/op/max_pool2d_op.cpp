// max_pool2d: the largest value of each window; the gradient goes where that value was.
#include "weft/op/half_operand.h"
#include "weft/op/linear_map.h"
#include "weft/op/operands.h"
#include "weft/op/pooling.h"

namespace weft {

Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options) {
  const Pool2dGeometry geometry = check_pool("max_pool2d", x, options);
  if (is_half(x)) return cast(max_pool2d(widened(x), options), x.dtype());
  const MaxPoolOutput forward = max_pool2d_forward(x.array(), geometry, recording({&x}));
  const auto scatter = [forward, geometry, shape = x.shape()](const Array& dy) {
    return max_pool2d_backward(dy, forward, shape, geometry);
  };
  return record(
      "max_pool2d", forward.y, {&x},
      [scatter](const Array& dy, const InputGradients& dx) { dx.add(0, scatter(dy)); },
      [scatter, forward, geometry](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, linear_map("max_pool2d_gradient", dy, scatter, [=](const Array& g) {
                 return max_pool2d_take(g, forward, geometry);
               }));
      });
}

static std::vector<OpSample> samples() {
  return pool_samples(
      [](const Tensor& x, const Pool2dOptions& options) { return max_pool2d(x, options); },
      largest_of_window);
}
extern const OpDef max_pool2d_op = {"max_pool2d", samples};

}  // namespace weft
