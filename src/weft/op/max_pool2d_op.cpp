// max_pool2d: the largest value of each window; the gradient goes where that value was.
#include <algorithm>

#include "weft/op/operands.h"
#include "weft/op/pooling.h"

namespace weft {

Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options) {
  const Pool2dGeometry geometry = check_pool("max_pool2d", x, options);
  const MaxPoolOutput forward = max_pool2d_forward(x.array(), geometry, recording({&x}));
  return record("max_pool2d", forward.y, {&x},
                [forward, geometry, shape = x.shape()](const Array& dy, const InputGradients& dx) {
                  dx.add(0, max_pool2d_backward(dy, forward, shape, geometry));
                });
}

static std::vector<OpSample> samples() {
  return pool_samples(
      [](const Tensor& x, const Pool2dOptions& options) { return max_pool2d(x, options); },
      [](const std::vector<double>& values, const Pool2dOptions&) {
        return *std::max_element(values.begin(), values.end());
      });
}
extern const OpDef max_pool2d_op = {"max_pool2d", samples};

}  // namespace weft
