#include "weft/op/conv/max_pooling.h"

#include "weft/kernel/elementwise/convert.h"
#include "weft/op/core/half_operand.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/operands.h"

namespace weft {

Tensor max_pooling(const Tensor& x, const MaxPoolKernels& kernels) {
  const DType type = x.dtype();
  const DType wide = is_half(x) ? DType::kF32 : type;
  const DType computed = type == DType::kBF16 && kernels.take_bf16 ? type : wide;
  MaxPoolOutput forward = kernels.forward(convert(x.array(), computed), recording({&x}));
  forward.y = convert(forward.y, type);
  const auto in_type = [forward](DType of) {
    return MaxPoolOutput{convert(forward.y, of), forward.winners};
  };
  const auto scatter = [=, backward = kernels.backward](const Array& dy) {
    return convert(backward(convert(dy, computed), in_type(computed)), type);
  };
  const auto gather = [=, take = kernels.take](const Array& dx) {
    return convert(take(convert(dx, wide), in_type(wide)), type);
  };
  return record(
      kernels.name, forward.y, {&x},
      [scatter](const Array& dy, const InputGradients& dx) { dx.add(0, scatter(dy)); },
      [scatter, gather, name = kernels.gradient_name](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, linear_map(name, dy, scatter, gather));
      });
}

}  // namespace weft
