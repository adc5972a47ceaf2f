// cast: the same values in another element type; the gradient is cast back.
#include <cmath>

#include "weft/autograd/node.h"
#include "weft/kernel/elementwise/convert.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor cast(const Tensor& x, DType dtype) {
  if (!x.defined()) throw_operand("cast", "a tensor", "an undefined one");
  if (x.dtype() == dtype) return x;
  Array y = convert(x.array(), dtype);
  if (!is_floating(dtype)) return Tensor(std::move(y));
  return record(
      "cast", std::move(y), {&x},
      [from = x.dtype()](const Array& dy, const InputGradients& dx) {
        dx.add(0, convert(dy, from));
      },
      [from = x.dtype()](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, cast(dy, from));
      });
}

static std::vector<OpSample> cast_samples() {
  // There and back: through f32 nothing is lost but the last bits; through i64 the fraction, which
  // a where() beside it keeps from being the whole result.
  std::vector<OpSample> all =
      unary_samples([](const Tensor& a) { return cast(cast(mul(a, 1.0), DType::kF64), a.dtype()); },
                    [](double a) { return a; });
  const auto whole = [](const char* name, const Shape& shape) {
    return OpSample{name,
                    {sample_values(shape, 6, -9.0, 9.0)},
                    [](std::span<const Tensor> in) {
                      return add(in[0], cast(cast(in[0], DType::kI32), count_type(in[0])));
                    },
                    [](std::span<const Array> in) {
                      return map_values(in[0], [](double a) { return a + std::trunc(a); });
                    }};
  };
  all.push_back(whole("through i32", {4, 7}));
  all.push_back(whole("nothing through i32", {0}));
  return all;
}
extern const OpDef cast_op = {"cast", cast_samples};

}  // namespace weft
