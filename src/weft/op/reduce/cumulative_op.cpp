// cumsum: y_i = x_0 + ... + x_i; the gradient runs from the other end. cumprod: the product.
#include "weft/autograd/node.h"
#include "weft/kernel/reduce/scan.h"
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

// The axis, in range.
int scanned_axis(const char* name, const Tensor& x, int axis) {
  if (!x.defined()) throw_operand(name, "a tensor", "an undefined one");
  return normalize_axis(name, axis, x.ndim());
}

// dx_i = sum over j >= i of dy_j times the product of x_k, k <= j, k != i; by operations, with n x
// n products a line, so that zeros do no harm.
Tensor cumprod_gradient(const Tensor& x, const Tensor& dy, int axis) {
  const Tensor lines = transpose(x, axis, -1);
  const Tensor gradients = transpose(dy, axis, -1);
  const std::int64_t n = lines.dim(-1);
  Shape each = lines.shape();
  each.insert(each.size() - 1, 1);
  Shape square = each;
  square[square.size() - 2] = n;
  const Array place = cumulative_sum(Array::full({n}, 1.0, DType::kI64, x.device()), 0);
  const Tensor i(place.reshape({n, 1}));
  const Tensor j(place);
  const Tensor others = where(eq(i, j), 1.0, expand(reshape(lines, each), square));
  const Tensor products = mul(cumprod(others, -1), reshape(gradients, each));
  return transpose(sum(where(ge(j, i), products, 0.0), {-1}), axis, -1);
}

}  // namespace

Tensor cumsum(const Tensor& x, int axis) {
  if (x.defined() && x.ndim() == 0) return reshape(cumsum(reshape(x, {1}), axis), {});
  const int at = scanned_axis("cumsum", x, axis);
  return record(
      "cumsum", cumulative_sum(x.array(), at), {&x},
      [at](const Array& dy, const InputGradients& dx) {
        dx.add(0, cumulative_sum(dy.strided(), at, true));
      },
      [at](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, linear_map(
                      "cumsum_gradient", dy,
                      [at](const Array& g) { return cumulative_sum(g.strided(), at, true); },
                      [at](const Array& g) { return cumulative_sum(g.strided(), at); }));
      });
}

Tensor cumprod(const Tensor& x, int axis) {
  if (x.defined() && x.ndim() == 0) return reshape(cumprod(reshape(x, {1}), axis), {});
  const int at = scanned_axis("cumprod", x, axis);
  return record(
      "cumprod", cumulative_product(x.array(), at), {&x},
      [at, in = x.array()](const Array& dy, const InputGradients& dx) {
        dx.add(0, cumulative_product_gradient(in, dy.strided(), at));
      },
      [at, in = x.array()](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, cumprod_gradient(dx.input(0, in), dy, at));
      });
}

static std::vector<OpSample> scan_samples(Tensor (*op)(const Tensor&, int),
                                          double (*join)(double, double)) {
  const auto sample = [=](const char* name, const Array& x, int axis) {
    return OpSample{name,
                    {x},
                    [op, axis](std::span<const Tensor> in) { return op(in[0], axis); },
                    [join, axis](std::span<const Array> in) {
                      const int at = axis < 0 ? axis + in[0].ndim() : axis;
                      std::int64_t step = 1;
                      for (int i = at + 1; i < in[0].ndim(); ++i) step *= in[0].dim(i);
                      Array y = in[0].clone();
                      double* const values = y.data<double>();
                      for (std::int64_t i = 0; i < y.size(); ++i) {
                        if (i / step % in[0].dim(at) > 0) {
                          values[i] = join(values[i - step], values[i]);
                        }
                      }
                      return y;
                    }};
  };
  return {sample("rows", sample_values({3, 5}, 1), -1),
          sample("columns", sample_values({4, 3}, 2), 0),
          sample("middle", sample_values({2, 5, 3}, 3), 1),
          sample("one element", sample_values({1}, 4), 0),
          sample("no lines", sample_values({0, 3}, 5), 1),
          sample("no values", sample_values({2, 0}, 5), 1),
          sample("zeros", Array::from(std::vector<double>{2, 0, 3, 4, 0, 5, 1, 2}, {2, 4}), 1)};
}
static std::vector<OpSample> cumsum_samples() {
  return scan_samples(cumsum, [](double a, double b) { return a + b; });
}
static std::vector<OpSample> cumprod_samples() {
  return scan_samples(cumprod, [](double a, double b) { return a * b; });
}

extern const OpDef cumsum_op = {"cumsum", cumsum_samples};
extern const OpDef cumprod_op = {"cumprod", cumprod_samples};

}  // namespace weft
