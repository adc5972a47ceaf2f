// reshape: the same values in another shape; a view where strides allow it.
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {

Tensor reshape(const Tensor& x, const Shape& shape) {
  return record(
      "reshape", x.array().strided().reshape(shape), {&x},
      [from = x.shape()](const Array& dy, const InputGradients& dx) {
        dx.add(0, dy.strided().reshape(from));
      },
      [from = x.shape()](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, reshape(dy, from));
      });
}

static std::vector<OpSample> reshape_samples() {
  const auto sample = [](const char* name, const Shape& from, const Shape& to, const Shape& full) {
    return OpSample{
        name,
        {sample_values(from, 71)},
        [to](std::span<const Tensor> in) { return reshape(in[0], to); },
        [full](std::span<const Array> in) { return Array::from(in[0].to_vector<double>(), full); }};
  };
  return {sample("4x6 to 3x8", {4, 6}, {3, 8}, {3, 8}),
          sample("worked out", {2, 3, 4}, {-1, 4}, {6, 4}), sample("one element", {1}, {}, {}),
          sample("no elements", {0, 3}, {3, 0}, {3, 0})};
}
extern const OpDef reshape_op = {"reshape", reshape_samples};

}  // namespace weft
