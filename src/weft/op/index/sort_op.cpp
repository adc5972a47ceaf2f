// sort, topk, kthvalue, median: positions from a kernel, values gathered there.
#include <algorithm>
#include <numeric>

#include "weft/autograd/node.h"
#include "weft/kernel/index/sort.h"
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/core/index_samples.h"
#include "weft/op/core/operands.h"
#include "weft/op/index.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"
#include "weft/op/sort.h"

namespace weft {
namespace {

// `positions` of rows along the last axis, which changes places with `axis`.
template <class Positions>
Ordered order_rows(const char* op, const Tensor& x, int axis, const Positions& positions) {
  if (x.ndim() == 0) {
    const Ordered one = order_rows(op, reshape(x, {1}), axis, positions);
    return {reshape(one.values, {}), reshape(one.indices, {})};
  }
  const int at = normalize_axis(op, axis, x.ndim());
  const Array found = positions(x.array().strided().transpose(at, -1)).transpose(at, -1);
  return {gather(x, at, found), Tensor(found)};
}

std::int64_t length_of(const char* op, const Tensor& x, int axis) {
  return x.ndim() == 0 ? 1 : x.shape()[normalize_axis(op, axis, x.ndim())];
}

Ordered without_axis(const Ordered& from, int axis, bool keepdims) {
  if (keepdims || from.values.ndim() == 0) return from;
  return {squeeze(from.values, axis), squeeze(from.indices, axis)};
}

}  // namespace

Ordered sort(const Tensor& x, int axis, bool descending) {
  return order_rows("sort", x, axis,
                    [=](const Array& rows) { return argsort_rows(rows, descending); });
}

Tensor argsort(const Tensor& x, int axis, bool descending) {
  return sort(x.detach(), axis, descending).indices;
}

Ordered topk(const Tensor& x, std::int64_t count, int axis, bool largest) {
  const std::int64_t length = length_of("topk", x, axis);
  if (count < 0 || count > length) {
    throw_operand("topk", "a count in [0, " + std::to_string(length) + "]", std::to_string(count));
  }
  return order_rows("topk", x, axis,
                    [=](const Array& rows) { return partial_argsort_rows(rows, count, largest); });
}

Ordered kthvalue(const Tensor& x, std::int64_t k, int axis, bool keepdims) {
  const std::int64_t length = length_of("kthvalue", x, axis);
  if (k < 1 || k > length) {
    throw_operand("kthvalue", "k in [1, " + std::to_string(length) + "]", std::to_string(k));
  }
  const Ordered one = order_rows("kthvalue", x, axis, [=](const Array& rows) {
    return partial_argsort_rows(rows, k, false).slice(-1, k - 1, k);
  });
  return without_axis(one, axis, keepdims);
}

Ordered median(const Tensor& x, int axis, bool keepdims) {
  if (length_of("median", x, axis) == 0) throw_operand("median", "at least one value", "none");
  return without_axis(order_rows("median", x, axis, median_rows), axis, keepdims);
}

// 1 / n where x is one of the n values that are the median, else 0.
static Tensor shares_of_median(const Tensor& x, const Tensor& median) {
  const Tensor here = logical_or(eq(x, median), logical_and(isnan(x), isnan(median)));
  const Tensor ones = cast(here, x.dtype());
  return ones / sum(ones);
}

Tensor median_of_all(const Tensor& x) {
  const Tensor found = median(reshape(x.detach(), {-1})).values;
  return record(
      "median", found.array(), {&x},
      [x = x.array(), y = found.array()](const Array& dy, const InputGradients& dx) {
        dx.add(0, mul(Tensor(dy.strided()), shares_of_median(Tensor(x), Tensor(y))).array());
      },
      [x = x.array(), y = found.array()](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, mul(dy, shares_of_median(Tensor(x), Tensor(y))));
      });
}

// Along the last axis, by positions sorted with a comparison of values alone.
static Array sort_reference(const Array& x, bool descending, std::int64_t begin, std::int64_t end) {
  const std::int64_t count = x.dim(-1);
  Shape shape = x.shape();
  shape[shape.size() - 1] = end - begin;
  std::vector<double> values;
  for (std::int64_t row = 0; row < x.size(); row += std::max<std::int64_t>(1, count)) {
    std::vector<double> line(x.data<double>() + row, x.data<double>() + row + count);
    std::sort(line.begin(), line.end());
    if (descending) std::reverse(line.begin(), line.end());
    values.insert(values.end(), line.begin() + begin, line.begin() + end);
  }
  return Array::from(values, shape);
}

static std::vector<OpSample> sort_samples() {
  const auto sorted = [](const char* name, const Shape& shape, int axis, bool descending) {
    return OpSample{
        name,
        {sample_values(shape, 651)},
        [=](std::span<const Tensor> in) { return sort(in[0], axis, descending).values; },
        [=](std::span<const Array> in) {
          const Array rows = in[0].transpose(axis, -1).clone();
          return sort_reference(rows, descending, 0, rows.dim(-1)).transpose(axis, -1).clone();
        }};
  };
  const auto picked = [](const char* name, const std::function<Tensor(const Tensor&)>& op,
                         bool descending, std::int64_t begin, std::int64_t end) {
    return OpSample{
        name,
        {sample_values({3, 8}, 652)},
        [op](std::span<const Tensor> in) { return op(in[0]); },
        [=](std::span<const Array> in) { return sort_reference(in[0], descending, begin, end); }};
  };
  return {
      sorted("rows", {3, 7}, 1, false),
      sorted("columns, descending", {9, 2}, 0, true),
      sorted("middle axis", {2, 5, 3}, 1, false),
      sorted("one element", {1}, 0, false),
      sorted("no rows", {0, 4}, 1, false),
      picked(
          "topk", [](const Tensor& x) { return topk(x, 3).values; }, true, 0, 3),
      picked(
          "smallest", [](const Tensor& x) { return topk(x, 5, 1, false).values; }, false, 0, 5),
      picked(
          "kthvalue", [](const Tensor& x) { return kthvalue(x, 4, -1, true).values; }, false, 3, 4),
      picked(
          "median", [](const Tensor& x) { return median(x, 1, true).values; }, false, 3, 4),
      OpSample{"median of all",
               {sample_values({3, 5}, 653)},
               [](std::span<const Tensor> in) { return median_of_all(in[0]); },
               [](std::span<const Array> in) {
                 return sort_reference(in[0].reshape({1, 15}), false, 7, 8).reshape({});
               }}};
}
extern const OpDef sort_op = {"sort", sort_samples};

}  // namespace weft
