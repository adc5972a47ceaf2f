// layer_norm: x normalised over its last axes, then scaled and shifted.
//
// IMPLEMENTATION: Ba, Kiros, Hinton, "Layer normalization", 2016, equation 4, with eps under the
// root as PyTorch has it. One pass each way; the gradient of the weights comes with that of x.
#include "weft/op/norm.h"
#include "weft/op/norm/row_norm.h"

namespace weft {

Tensor layer_norm(const Tensor& x, int axes, const Tensor& weight, const Tensor& bias, double eps) {
  return row_norm("layer_norm", x, axes, {weight, bias, eps, true});
}

static std::vector<OpSample> layer_norm_samples() {
  return row_norm_samples(
      [](std::span<const Tensor> in, int axes) {
        const Tensor none;
        return layer_norm(in[0], axes, in.size() > 1 ? in[1] : none, in.size() > 2 ? in[2] : none);
      },
      {.eps = 1e-5, .centered = true});
}
extern const OpDef layer_norm_op = {"layer_norm", layer_norm_samples};

}  // namespace weft
