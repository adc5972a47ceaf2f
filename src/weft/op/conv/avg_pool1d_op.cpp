// avg_pool1d: avg_pool2d over an image of one row.
#include "weft/op/conv/pooling.h"

namespace weft {

Tensor avg_pool1d(const Tensor& x, const Pool1dOptions& options) {
  return as_sequence(avg_pool2d(as_image("avg_pool1d", x), options_2d(options)));
}

static std::vector<OpSample> avg_pool1d_samples() {
  return pool1d_samples(
      [](const Tensor& x, const Pool1dOptions& options) { return avg_pool1d(x, options); },
      mean_of_window);
}
extern const OpDef avg_pool1d_op = {"avg_pool1d", avg_pool1d_samples};

}  // namespace weft
