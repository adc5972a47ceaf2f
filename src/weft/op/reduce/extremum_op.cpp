// max, min: the largest and smallest value over any axes; equal extremes share the gradient.
// argmax, argmin: where the extreme stands, which has no gradient.
#include <algorithm>

#include "weft/autograd/node.h"
#include "weft/autograd/op_trace.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/kernel/reduce/scan.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

// The part of its extreme's gradient that each value of x gets: equal ones share it.
Array shares_of(const Array& x, const Array& extreme, AxisMask mask) {
  const Array hits = binary(BinaryOp::kEqual, x, extreme);
  return binary(BinaryOp::kDiv, hits, reduce(ReduceOp::kSum, hits, mask, true));
}

Tensor extreme(const char* name, ReduceOp op, const Tensor& x, const std::vector<int>& axes,
               bool keepdims) {
  if (!x.defined()) throw_operand(name, "a tensor", "an undefined one");
  const AxisMask mask = axis_mask(name, axes, x.ndim());
  Array y = reduce(op, x.array(), mask, keepdims);
  if (op_tracing()) {
    trace_attributes(name,
                     {{"mask", {static_cast<double>(mask)}}, {"keepdims", {keepdims ? 1.0 : 0.0}}});
  }
  return record(
      name, y, {&x},
      [y, mask, in = x.array()](const Array& dy, const InputGradients& dx) {
        const Shape kept = reduced_shape(in.shape(), mask, true);
        const Array shares = shares_of(in, y.reshape(kept), mask);
        dx.add(0, binary(BinaryOp::kMul, shares, dy.strided().reshape(kept)));
      },
      [y, mask, in = x.array()](const Tensor& dy, const TensorGradients& dx) {
        const Shape kept = reduced_shape(in.shape(), mask, true);
        const Tensor shares(shares_of(in, y.reshape(kept), mask));
        dx.add(0, mul(shares, reshape(dy, kept)));
      });
}

Tensor arg_extreme(Extreme extreme, const Tensor& x, int axis, bool keepdims) {
  const char* const name = extreme == Extreme::kMax ? "argmax" : "argmin";
  if (!x.defined()) throw_operand(name, "a tensor", "an undefined one");
  // A scalar is a row of one.
  if (x.ndim() == 0)
    return Tensor(extreme_index(extreme, x.array().strided().unsqueeze(0), 0, false));
  return Tensor(extreme_index(extreme, x.array(), normalize_axis(name, axis, x.ndim()), keepdims));
}

Tensor arg_extreme(Extreme extreme, const Tensor& x) {
  if (!x.defined()) return arg_extreme(extreme, x, 0, false);
  return Tensor(extreme_index(extreme, x.array().strided().reshape({-1}), 0, false));
}

}  // namespace

Tensor max(const Tensor& x, const Axes& axes, bool keepdims) {
  return extreme("max", ReduceOp::kMax, x, axes, keepdims);
}
Tensor min(const Tensor& x, const Axes& axes, bool keepdims) {
  return extreme("min", ReduceOp::kMin, x, axes, keepdims);
}

Tensor argmax(const Tensor& x, int axis, bool keepdims) {
  return arg_extreme(Extreme::kMax, x, axis, keepdims);
}
Tensor argmax(const Tensor& x) { return arg_extreme(Extreme::kMax, x); }
Tensor argmin(const Tensor& x, int axis, bool keepdims) {
  return arg_extreme(Extreme::kMin, x, axis, keepdims);
}
Tensor argmin(const Tensor& x) { return arg_extreme(Extreme::kMin, x); }

// An extreme over nothing is refused.
static std::vector<OpSample> extreme_samples(
    const ReduceTensorOp& op, const std::function<double(std::span<const double>)>& reference) {
  std::vector<OpSample> all = reduce_samples(op, reference);
  std::erase_if(all, [](const OpSample& sample) { return sample.name == "over no values"; });
  return all;
}
static std::vector<OpSample> max_samples() {
  return extreme_samples(max, [](std::span<const double> values) {
    return *std::max_element(values.begin(), values.end());
  });
}
static std::vector<OpSample> min_samples() {
  return extreme_samples(min, [](std::span<const double> values) {
    return *std::min_element(values.begin(), values.end());
  });
}

// Positions have no gradient; they weigh the sum of what was searched, which has one.
static std::vector<OpSample> position_samples(Tensor (*op)(const Tensor&, int, bool),
                                              Tensor (*op_of_all)(const Tensor&),
                                              bool (*better)(double, double)) {
  const auto first = [better](std::span<const double> values) {
    std::size_t best = 0;
    double total = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (better(values[i], values[best])) best = i;
      total += values[i];
    }
    return static_cast<double>(best) * total;
  };
  std::vector<OpSample> all = reduce_samples(
      [op, op_of_all](const Tensor& x, const std::vector<int>& axes, bool keepdims) {
        const Tensor total = sum(x, axes, keepdims);
        const bool whole = axes.empty();
        const Tensor place = whole ? op_of_all(x) : op(x, axes[0], keepdims);
        return mul(cast(whole ? reshape(place, total.shape()) : place, count_type(x)), total);
      },
      first);
  std::erase_if(all, [](const OpSample& sample) {
    return sample.name == "over no values" || sample.name == "outer axes";
  });
  return all;
}
static std::vector<OpSample> argmax_samples() {
  return position_samples(argmax, argmax, [](double a, double b) { return a > b; });
}
static std::vector<OpSample> argmin_samples() {
  return position_samples(argmin, argmin, [](double a, double b) { return a < b; });
}

extern const OpDef max_op = {"max", max_samples};
extern const OpDef min_op = {"min", min_samples};
extern const OpDef argmax_op = {"argmax", argmax_samples};
extern const OpDef argmin_op = {"argmin", argmin_samples};

}  // namespace weft
