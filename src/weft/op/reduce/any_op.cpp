// any, all, count_nonzero: reductions of "is not 0", which have no gradient.
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/reduce.h"

namespace weft {
namespace {

Tensor reduce_flags(const char* name, ReduceOp op, const Tensor& x, const std::vector<int>& axes,
                    bool keepdims) {
  if (!x.defined()) throw_operand(name, "a tensor", "an undefined one");
  const AxisMask mask = axis_mask(name, axes, x.ndim());
  const Array flags = cast(x, DType::kBool).array();
  const Shape shape = reduced_shape(x.shape(), mask, keepdims);
  if (op != ReduceOp::kSum && x.size() == 0 && shape.num_elements() > 0) {
    return Tensor(Array::full(shape, op == ReduceOp::kMin ? 1.0 : 0.0, DType::kBool, x.device()));
  }
  return Tensor(reduce(op, flags, mask, keepdims));
}

}  // namespace

Tensor any(const Tensor& x, const Axes& axes, bool keepdims) {
  return reduce_flags("any", ReduceOp::kMax, x, axes, keepdims);
}
Tensor all(const Tensor& x, const Axes& axes, bool keepdims) {
  return reduce_flags("all", ReduceOp::kMin, x, axes, keepdims);
}
Tensor count_nonzero(const Tensor& x, const Axes& axes, bool keepdims) {
  return reduce_flags("count_nonzero", ReduceOp::kSum, x, axes, keepdims);
}

// The outcome of a test of x weighs the sum of x.
using AnyReduction = Tensor (*)(const Tensor&, const Axes&, bool);
static std::vector<OpSample> flag_samples(AnyReduction op, double above,
                                          double (*reference)(int hits, int count)) {
  return reduce_samples(
      [op, above](const Tensor& x, const std::vector<int>& axes, bool keepdims) {
        const Tensor outcome = op(gt(x, above), axes, keepdims);
        return add(cast(outcome, count_type(x)), sum(x, axes, keepdims));
      },
      [above, reference](std::span<const double> values) {
        int hits = 0;
        double total = 0;
        for (const double value : values) {
          hits += value > above ? 1 : 0;
          total += value;
        }
        return total + reference(hits, static_cast<int>(values.size()));
      });
}
static std::vector<OpSample> any_samples() {
  return flag_samples(any, 0.7, [](int hits, int) { return hits > 0 ? 1.0 : 0.0; });
}
static std::vector<OpSample> all_samples() {
  return flag_samples(all, -0.8, [](int hits, int count) { return hits == count ? 1.0 : 0.0; });
}
static std::vector<OpSample> count_nonzero_samples() {
  return flag_samples(count_nonzero, 0.1, [](int hits, int) { return static_cast<double>(hits); });
}

extern const OpDef any_op = {"any", any_samples};
extern const OpDef all_op = {"all", all_samples};
extern const OpDef count_nonzero_op = {"count_nonzero", count_nonzero_samples};

}  // namespace weft
