// rms_norm: x divided by the root of the mean of its squares over the last axes, then scaled.
//
// IMPLEMENTATION: Zhang, Sennrich, "Root mean square layer normalization", NeurIPS 2019,
// equation 4, with eps under the root.
#include "weft/op/norm.h"
#include "weft/op/norm/row_norm.h"

namespace weft {

Tensor rms_norm(const Tensor& x, int axes, const Tensor& weight, double eps) {
  return row_norm("rms_norm", x, axes, {weight, Tensor(), eps, false});
}

static std::vector<OpSample> rms_norm_samples() {
  return row_norm_samples(
      [](std::span<const Tensor> in, int axes) {
        return rms_norm(in[0], axes, in.size() > 1 ? in[1] : Tensor());
      },
      {.eps = 1e-6, .centered = false});
}
extern const OpDef rms_norm_op = {"rms_norm", rms_norm_samples};

}  // namespace weft
