// max_pool2d: the largest value of each window; the gradient goes where that value was.
#include "weft/autograd/op_trace.h"
#include "weft/kernel/elementwise/convert.h"
#include "weft/op/conv/pooling.h"
#include "weft/op/core/half_operand.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/operands.h"

namespace weft {

Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options) {
  const Pool2dGeometry geometry = check_pool("max_pool2d", x, options);
  // f16, and bf16 where the kernel does not take it, go through f32, exactly; what is kept has the
  // 16-bit type.
  const DType type = x.dtype();
  const DType wide = is_half(x) ? DType::kF32 : type;
  const bool taken = type == DType::kBF16 && max_pool2d_takes_bf16(x.array(), geometry);
  const DType computed = taken ? type : wide;
  MaxPoolOutput forward =
      max_pool2d_forward(convert(x.array(), computed), geometry, recording({&x}));
  forward.y = convert(forward.y, type);
  const auto in_type = [forward](DType of) {
    return MaxPoolOutput{convert(forward.y, of), forward.winners};
  };
  const auto scatter = [=, shape = x.shape()](const Array& dy) {
    return convert(max_pool2d_backward(convert(dy, computed), in_type(computed), shape, geometry),
                   type);
  };
  if (op_tracing()) {
    trace_attributes("max_pool2d",
                     {{"kernel", traced(options.kernel)},
                      {"stride", traced(geometry.stride)},
                      {"padding", traced(options.padding)},
                      {"ceil", {options.ceil_mode ? 1.0 : 0.0}},
                      {"count_include_pad", {options.count_include_pad ? 1.0 : 0.0}}});
  }
  return record(
      "max_pool2d", forward.y, {&x},
      [scatter](const Array& dy, const InputGradients& dx) { dx.add(0, scatter(dy)); },
      [=](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, linear_map("max_pool2d_gradient", dy, scatter, [=](const Array& g) {
                 return convert(max_pool2d_take(convert(g, wide), in_type(wide), geometry), type);
               }));
      });
}

static std::vector<OpSample> max_pool2d_samples() {
  return pool_samples(
      [](const Tensor& x, const Pool2dOptions& options) { return max_pool2d(x, options); },
      largest_of_window);
}
extern const OpDef max_pool2d_op = {"max_pool2d", max_pool2d_samples};

}  // namespace weft
