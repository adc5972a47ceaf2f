// where: y = condition ? a : b; the gradient goes to what was chosen.
#include "weft/autograd/node.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  if (!condition.defined() || condition.dtype() != DType::kBool) {
    throw_operand("where", "a bool condition",
                  condition.defined() ? std::string(to_string(condition.dtype())) : "none");
  }
  const Operands operands = promote("where", a, b);
  const Tensor& left = operands.a;
  const Tensor& right = operands.b;
  Array y = where(condition.array(), left.array(), right.array());
  return record(
      "where", std::move(y), {&left, &right, &condition},
      [flags = condition.array(), shape_a = left.shape(), shape_b = right.shape()](
          const Array& dy, const InputGradients& dx) {
        const Array zero = Array::zeros({}, dy.dtype(), dy.device());
        if (dx.needs(0)) add_summed(dx, 0, where(flags, dy, zero), shape_a);
        if (dx.needs(1)) add_summed(dx, 1, where(flags, zero, dy), shape_b);
      },
      [flags = condition.array(), shape_a = left.shape(), shape_b = right.shape()](
          const Tensor& dy, const TensorGradients& dx) {
        const Tensor chosen(flags);
        if (dx.needs(0)) add_summed(dx, 0, where(chosen, dy, 0.0), shape_a);
        if (dx.needs(1)) add_summed(dx, 1, where(chosen, 0.0, dy), shape_b);
      });
}

Tensor where(const Tensor& condition, const Tensor& a, double b) {
  return where(condition, a, Tensor(Array::full({}, b, a.dtype(), a.device())));
}

Tensor where(const Tensor& condition, double a, const Tensor& b) {
  return where(condition, Tensor(Array::full({}, a, b.dtype(), b.device())), b);
}

static std::vector<OpSample> where_samples() {
  std::vector<OpSample> all = binary_samples(
      [](const Tensor& a, const Tensor& b) { return where(gt(a, 0.1), mul(a, 3.0), b); },
      [](double a, double b) { return a > 0.1 ? 3 * a : b; });
  all.push_back({"a mask of its own, broadcast",
                 {Array::from(std::vector<bool>{true, false, true}, {3, 1}), sample_values({4}, 1),
                  sample_values({2, 1, 1}, 2)},
                 [](std::span<const Tensor> in) { return where(in[0], in[1], in[2]); },
                 [](std::span<const Array> in) {
                   Array y = Array::empty({2, 3, 4}, DType::kF64);
                   for (std::int64_t i = 0; i < 24; ++i) {
                     const bool chosen = in[0].data<bool>()[i / 4 % 3];
                     y.data<double>()[i] =
                         chosen ? in[1].data<double>()[i % 4] : in[2].data<double>()[i / 12];
                   }
                   return y;
                 }});
  return all;
}
extern const OpDef where_op = {"where", where_samples};

}  // namespace weft
