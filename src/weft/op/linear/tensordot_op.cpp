// tensordot and its kin: dot, outer, bmm, trace; each one product of matrices.
#include <numeric>

#include "weft/op/arithmetic.h"
#include "weft/op/core/index_samples.h"
#include "weft/op/core/operands.h"
#include "weft/op/linalg.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

void check_vectors(const char* op, const Tensor& a, const Tensor& b) {
  if (a.ndim() == 1 && b.ndim() == 1) return;
  throw_operand(op, "two vectors", to_string(a.shape()) + " and " + to_string(b.shape()));
}

// The axes of x that are not in `axes`.
std::vector<int> others(const Tensor& x, AxisMask axes) {
  std::vector<int> left;
  for (int i = 0; i < x.ndim(); ++i) {
    if ((axes >> i & 1) == 0) left.push_back(i);
  }
  return left;
}

std::int64_t length(const Tensor& x, const std::vector<int>& axes) {
  std::int64_t product = 1;
  for (const int axis : axes) product *= x.dim(axis);
  return product;
}

std::vector<int> joined(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

Tensor dot(const Tensor& a, const Tensor& b) {
  check_vectors("dot", a, b);
  return matmul(a, b);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  check_vectors("outer", a, b);
  return unsqueeze(a, 1) * unsqueeze(b, 0);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  if (a.ndim() != 3 || b.ndim() != 3 || a.dim(0) != b.dim(0)) {
    throw_operand("bmm", "shapes [b, m, k] and [b, k, n]",
                  to_string(a.shape()) + " and " + to_string(b.shape()));
  }
  return matmul(a, b);
}

Tensor tensordot(const Tensor& a, const Tensor& b, const std::vector<int>& axes_a,
                 const std::vector<int>& axes_b) {
  bool fits = axes_a.size() == axes_b.size();
  for (std::size_t i = 0; fits && i < axes_a.size(); ++i) {
    fits = a.dim(axes_a[i]) == b.dim(axes_b[i]);
  }
  if (!fits) {
    throw_operand("tensordot", "pairs of axes of one length",
                  to_string(a.shape()) + " and " + to_string(b.shape()));
  }
  const AxisMask mask_a = axes_a.empty() ? 0 : axis_mask("tensordot", axes_a, a.ndim());
  const AxisMask mask_b = axes_b.empty() ? 0 : axis_mask("tensordot", axes_b, b.ndim());
  const std::vector<int> of_a = others(a, mask_a);
  const std::vector<int> of_b = others(b, mask_b);
  const std::int64_t inner = length(a, axes_a);
  Shape shape;
  for (const int axis : of_a) shape.push_back(a.dim(axis));
  for (const int axis : of_b) shape.push_back(b.dim(axis));
  std::vector<int> order_a = of_a;
  order_a.reserve(of_a.size() + axes_a.size());
  for (const int axis : axes_a) order_a.push_back(normalize_axis("tensordot", axis, a.ndim()));
  std::vector<int> order_b;
  order_b.reserve(axes_b.size());
  for (const int axis : axes_b) order_b.push_back(normalize_axis("tensordot", axis, b.ndim()));
  const Tensor left = reshape(permute(a, order_a), {length(a, of_a), inner});
  const Tensor right = reshape(permute(b, joined(order_b, of_b)), {inner, length(b, of_b)});
  return reshape(matmul(left, right), shape);
}

Tensor tensordot(const Tensor& a, const Tensor& b, int count) {
  if (count < 0 || count > a.ndim() || count > b.ndim()) {
    throw_operand("tensordot", "a count of axes that both have", std::to_string(count));
  }
  std::vector<int> axes_a(static_cast<std::size_t>(count));
  std::vector<int> axes_b(static_cast<std::size_t>(count));
  std::iota(axes_a.begin(), axes_a.end(), a.ndim() - count);
  std::iota(axes_b.begin(), axes_b.end(), 0);
  return tensordot(a, b, axes_a, axes_b);
}

Tensor trace(const Tensor& x) {
  if (x.ndim() != 2) throw_operand("trace", "a matrix", to_string(x.shape()));
  return sum(diagonal(x));
}

// y[i, l] = sum_jk a[i, j, k] b[k, l, j]
static Array cube_reference(std::span<const Array> in) {
  const Shape& a = in[0].shape();
  const Shape& b = in[1].shape();
  Array y = Array::zeros({a[0], b[1]}, DType::kF64);
  each_index({a[0], a[1], a[2], b[1]}, [&](const Dims& i, std::int64_t) {
    y.data<double>()[i[0] * b[1] + i[3]] += in[0].data<double>()[row_major({i[0], i[1], i[2]}, a)] *
                                            in[1].data<double>()[row_major({i[2], i[3], i[1]}, b)];
  });
  return y;
}

static Array dot_reference(std::span<const Array> in) {
  double total = 0;
  for (std::int64_t i = 0; i < in[0].size(); ++i) {
    total += in[0].data<double>()[i] * in[1].data<double>()[i];
  }
  return Array::full({}, total, DType::kF64);
}

static std::vector<OpSample> tensordot_samples() {
  const auto cube = [](const char* name, const Shape& a, const Shape& b) {
    return OpSample{name,
                    {sample_values(a, 711), sample_values(b, 712)},
                    [](std::span<const Tensor> in) {
                      return tensordot(in[0], in[1], {1, -1}, {2, 0});
                    },
                    cube_reference};
  };
  const auto vectors = [](const char* name, std::int64_t count) {
    return OpSample{name,
                    {sample_values({count}, 713), sample_values({count}, 714)},
                    [](std::span<const Tensor> in) { return dot(in[0], in[1]); },
                    dot_reference};
  };
  return {cube("two axes", {2, 3, 4}, {4, 5, 3}),
          cube("one element", {1, 1, 1}, {1, 1, 1}),
          cube("nothing to sum", {2, 0, 3}, {3, 2, 0}),
          vectors("dot", 7),
          vectors("dot of nothing", 0),
          {"all axes",
           {sample_values({2, 3}, 715), sample_values({2, 3}, 716)},
           [](std::span<const Tensor> in) { return tensordot(in[0], in[1]); },
           dot_reference},
          {"outer",
           {sample_values({3}, 717), sample_values({4}, 718)},
           [](std::span<const Tensor> in) { return outer(in[0], in[1]); },
           [](std::span<const Array> in) {
             return map_values(in[0].unsqueeze(1), in[1].unsqueeze(0),
                               [](double a, double b) { return a * b; });
           }},
          {"trace",
           {sample_values({3, 5}, 719)},
           [](std::span<const Tensor> in) { return trace(in[0]); },
           [](std::span<const Array> in) {
             double total = 0;
             for (int i = 0; i < 3; ++i) total += in[0].data<double>()[i * 6];
             return Array::full({}, total, DType::kF64);
           }}};
}
extern const OpDef tensordot_op = {"tensordot", tensordot_samples};

}  // namespace weft
