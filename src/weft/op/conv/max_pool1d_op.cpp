// max_pool1d: max_pool2d over an image of one row.
#include "weft/op/conv/pooling.h"

namespace weft {

Tensor max_pool1d(const Tensor& x, const Pool1dOptions& options) {
  return as_sequence(max_pool2d(as_image("max_pool1d", x), options_2d(options)));
}

static std::vector<OpSample> max_pool1d_samples() {
  return pool1d_samples(
      [](const Tensor& x, const Pool1dOptions& options) { return max_pool1d(x, options); },
      largest_of_window);
}
extern const OpDef max_pool1d_op = {"max_pool1d", max_pool1d_samples};

}  // namespace weft
