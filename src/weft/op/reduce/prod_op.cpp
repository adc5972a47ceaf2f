// prod: over any axes. dx_i = dy times the product of the others, without a division, so that
// zeros do no harm.
#include "weft/autograd/node.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/kernel/reduce/scan.h"
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

// The axes in another order: those that stay, then those that are reduced.
std::vector<int> kept_first(AxisMask mask, int ndim) {
  std::vector<int> order;
  for (const bool reduced : {false, true}) {
    for (int axis = 0; axis < ndim; ++axis) {
      if (((mask >> axis & 1U) != 0) == reduced) order.push_back(axis);
    }
  }
  return order;
}

std::vector<int> inverse(const std::vector<int>& order) {
  std::vector<int> result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    result[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  }
  return result;
}

// Rows of the values that one output multiplies.
Shape rows_shape(const Shape& shape, AxisMask mask) {
  const std::int64_t rows = reduced_shape(shape, mask, false).num_elements();
  return {rows, rows == 0 ? 0 : shape.num_elements() / rows};
}

// Along each row, the product of the others: that of a running product's last value.
Array products_of_others(const Array& x, AxisMask mask) {
  const std::vector<int> order = kept_first(mask, x.ndim());
  const Array moved = x.strided().permute(order);
  const Array rows = moved.reshape(rows_shape(x.shape(), mask));
  if (rows.size() == 0) return Array::zeros(x.shape(), x.dtype(), x.device());
  Array last = Array::zeros(rows.shape(), x.dtype(), x.device());
  last.slice(1, -1, {}).fill(1.0);
  const Array others = cumulative_product_gradient(rows, last, 1);
  return others.reshape(moved.shape()).permute(inverse(order));
}

// The same by operations: each row n times with a 1 in place of value i.
Tensor products_of_others(const Tensor& x, AxisMask mask) {
  const std::vector<int> order = kept_first(mask, x.ndim());
  const Tensor moved = permute(x, order);
  const Shape rows = rows_shape(x.shape(), mask);
  const std::int64_t n = rows[1];
  Array place = cumulative_sum(Array::full({n}, 1.0, DType::kI64, x.device()), 0);
  const Tensor diagonal = eq(Tensor(place.reshape({n, 1})), Tensor(place));
  const Tensor each =
      where(diagonal, 1.0, expand(reshape(moved, {rows[0], 1, n}), {rows[0], n, n}));
  return permute(reshape(prod(each, {-1}), moved.shape()), inverse(order));
}

}  // namespace

Tensor prod(const Tensor& x, const Axes& axes, bool keepdims) {
  if (!x.defined()) throw_operand("prod", "a tensor", "an undefined one");
  const AxisMask mask = axis_mask("prod", axes, x.ndim());
  return record(
      "prod", reduce(ReduceOp::kProduct, x.array(), mask, keepdims), {&x},
      [mask, in = x.array()](const Array& dy, const InputGradients& dx) {
        const Shape kept = reduced_shape(in.shape(), mask, true);
        dx.add(0, binary(BinaryOp::kMul, products_of_others(in, mask), dy.strided().reshape(kept)));
      },
      [mask, in = x.array()](const Tensor& dy, const TensorGradients& dx) {
        const Shape kept = reduced_shape(in.shape(), mask, true);
        dx.add(0, mul(products_of_others(dx.input(0, in), mask), reshape(dy, kept)));
      });
}

static std::vector<OpSample> prod_samples() {
  const auto product = [](std::span<const double> values) {
    double total = 1;
    for (const double value : values) total *= value;
    return total;
  };
  std::vector<OpSample> all =
      reduce_samples([](const Tensor& x, const std::vector<int>& axes,
                        bool keepdims) { return prod(add(mul(x, 0.5), 1.0), axes, keepdims); },
                     [product](std::span<const double> values) {
                       std::vector<double> scaled;
                       for (const double value : values) scaled.push_back(0.5 * value + 1.0);
                       return product(scaled);
                     });
  for (const std::vector<double>& values :
       {std::vector<double>{2, 0, 3, -1}, {0, 2, 0, 3}, {-2, 1.5, 3, 0}, {0, 0, 0, 1}}) {
    all.push_back({"zeros",
                   {Array::from(values, {4})},
                   [](std::span<const Tensor> in) { return prod(in[0]); },
                   [](std::span<const Array>) { return Array::zeros({}, DType::kF64); }});
  }
  return all;
}
extern const OpDef prod_op = {"prod", prod_samples};

}  // namespace weft
