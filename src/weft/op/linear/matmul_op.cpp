// matmul: y = a b over the last two axes; da = dy b^T, db = a^T dy, summed where broadcast.
#include "weft/autograd/op_trace.h"
#include "weft/kernel/gemm/matmul.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/matmul.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

Array with_axes(Array a, int ndim) {
  while (a.ndim() < ndim) a = a.unsqueeze(0);
  return a;
}

// [..., m, k] x [k, n] is one product of [... m, k] if the rows lie one after the other.
bool folds(const Array& a, const Array& b) {
  return a.ndim() > 2 && b.ndim() == 2 && a.is_contiguous();
}

Shape product_shape(const Array& a, const Array& b) {
  const int ndim = std::max(a.ndim(), b.ndim());
  Shape shape;
  for (int i = ndim; i > 2; --i) {
    const std::int64_t of_a = i <= a.ndim() ? a.shape()[a.ndim() - i] : 1;
    const std::int64_t of_b = i <= b.ndim() ? b.shape()[b.ndim() - i] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      throw_operand("matmul", "leading axes that broadcast",
                    to_string(a.shape()) + " and " + to_string(b.shape()));
    }
    shape.push_back(of_a == 1 ? of_b : of_a);
  }
  shape.push_back(a.dim(-2));
  shape.push_back(b.dim(-1));
  return shape;
}

void multiply_into(const Array& a, const Array& b, Array& out, const MatmulOptions& options) {
  if (out.size() == 0) return;
  matmul(with_axes(a, out.ndim()), with_axes(b, out.ndim()), out, options);
}

Array matrix_product(const Array& a, const Array& b) {
  Array out = Array::empty(product_shape(a, b), a.dtype(), a.device());
  if (folds(a, b)) {
    Array rows = out.reshape({out.size() == 0 ? 0 : out.size() / out.dim(-1), out.dim(-1)});
    if (out.size() != 0) multiply_into(a.reshape({rows.dim(0), a.dim(-1)}), b, rows, {});
  } else {
    multiply_into(a, b, out, {});
  }
  return out;
}

// The gradient of one factor of `shape`: into its target if nothing is summed, else by way of the
// full product.
void add_factor(const InputGradients& dx, int index, const Shape& shape, const Array& left,
                const Array& right, MatmulOptions options) {
  Shape full;
  const int ndim = std::max(left.ndim(), right.ndim());
  for (int i = ndim; i > 2; --i) {
    const std::int64_t of_left = i <= left.ndim() ? left.shape()[left.ndim() - i] : 1;
    const std::int64_t of_right = i <= right.ndim() ? right.shape()[right.ndim() - i] : 1;
    full.push_back(of_left == 1 ? of_right : of_left);
  }
  full.push_back(shape[shape.size() - 2]);
  full.push_back(shape[shape.size() - 1]);
  if (full == shape) {
    GradientTarget target = dx.target(index);
    options.accumulate = target.accumulate;
    multiply_into(left, right, target.array, options);
    return;
  }
  Array whole = Array::empty(full, left.dtype(), left.device());
  multiply_into(left, right, whole, options);
  add_summed(dx, index, whole, shape);
}

}  // namespace

// The product of two matrices or batches of them, of one type.
static Tensor multiplied(const Tensor& a, const Tensor& b) {
  const Array x = a.array().strided();
  const Array z = b.array().strided();
  return record(
      "matmul", matrix_product(x, z), {&a, &b},
      [x, z](const Array& gradient, const InputGradients& dx) {
        const Array dy = gradient.strided();
        if (dx.needs(0)) add_factor(dx, 0, x.shape(), dy, z, {.transpose_b = true});
        if (dx.needs(1)) add_factor(dx, 1, z.shape(), x, dy, {.transpose_a = true});
      },
      [x, z](const Tensor& dy, const TensorGradients& dx) {
        if (dx.needs(0)) {
          add_summed(dx, 0, matmul(dy, transpose(dx.input(1, z), -1, -2)), x.shape());
        }
        if (dx.needs(1)) {
          add_summed(dx, 1, matmul(transpose(dx.input(0, x), -1, -2), dy), z.shape());
        }
      });
}

// A product with a vector, which has no history: its axes come and go without operations.
static Tensor multiplied_vector(const Tensor& a, const Tensor& b) {
  const bool is_row = a.ndim() == 1;
  const bool is_column = b.ndim() == 1;
  const Array x = a.array().strided();
  const Array z = b.array().strided();
  Array y = matrix_product(is_row ? x.unsqueeze(0) : x, is_column ? z.unsqueeze(1) : z);
  if (is_column) y = y.squeeze(-1);
  if (is_row) y = y.squeeze(is_column ? -1 : -2);
  return record("matmul", std::move(y), {&a, &b}, [](const Array&, const InputGradients&) {});
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) throw_operand("matmul", "two tensors", "an undefined one");
  const bool is_row = a.ndim() == 1;
  const bool is_column = b.ndim() == 1;
  if (a.ndim() == 0 || b.ndim() == 0 || a.dim(-1) != b.dim(is_column ? 0 : -2)) {
    throw_operand("matmul", "shapes [..., m, k] and [..., k, n]",
                  to_string(a.shape()) + " and " + to_string(b.shape()));
  }
  const DType dtype = promote_types(a.dtype(), b.dtype());
  if (dtype == DType::kBool) throw_operand("matmul", "numbers", "bool");
  const bool same = a.dtype() == dtype && b.dtype() == dtype;
  if ((is_row || is_column) && same && !recording({&a, &b}) && !op_tracing()) {
    return multiplied_vector(a, b);
  }
  const Tensor left = cast(is_row ? unsqueeze(a, 0) : a, dtype);
  const Tensor right = cast(is_column ? unsqueeze(b, 1) : b, dtype);
  Tensor y = multiplied(left, right);
  if (is_column) y = squeeze(y, -1);
  return is_row ? squeeze(y, is_column ? -1 : -2) : y;
}

// Each output element by itself, through indexes of the whole batch.
static Array matmul_reference(std::span<const Array> in) {
  const Array& a = in[0];
  const Array& b = in[1];
  Shape batch_a = a.shape();
  Shape batch_b = b.shape();
  for (int i = 0; i < 2; ++i) {
    batch_a.erase(batch_a.size() - 1);
    batch_b.erase(batch_b.size() - 1);
  }
  const Shape batch = broadcast_shapes(batch_a, batch_b);
  const std::int64_t m = a.dim(-2);
  const std::int64_t k = a.dim(-1);
  const std::int64_t n = b.dim(-1);
  Shape full_a = batch;
  full_a.push_back(m);
  full_a.push_back(k);
  Shape full_b = batch;
  full_b.push_back(k);
  full_b.push_back(n);
  const std::vector<double> x = a.expand(full_a).to_vector<double>();
  const std::vector<double> z = b.expand(full_b).to_vector<double>();
  Shape shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  Array y = Array::zeros(shape, DType::kF64);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::int64_t matrix = i / (m * n);
    const std::int64_t row = i / n % m;
    double& sum = y.data<double>()[i];
    for (std::int64_t j = 0; j < k; ++j) {
      sum += x[static_cast<std::size_t>((matrix * m + row) * k + j)] *
             z[static_cast<std::size_t>((matrix * k + j) * n + i % n)];
    }
  }
  return y;
}

static std::vector<OpSample> matmul_samples() {
  const auto sample = [](const char* name, const Shape& a, const Shape& b) {
    return OpSample{name,
                    {sample_values(a, 21), sample_values(b, 22)},
                    [](std::span<const Tensor> in) { return matmul(in[0], in[1]); },
                    matmul_reference};
  };
  // What the operands mean as matrices, and the shape of the result.
  const auto vectors = [](const char* name, const Shape& a, const Shape& b, const Shape& as_a,
                          const Shape& as_b, const Shape& result) {
    return OpSample{name,
                    {sample_values(a, 23), sample_values(b, 24)},
                    [](std::span<const Tensor> in) { return matmul(in[0], in[1]); },
                    [=](std::span<const Array> in) {
                      const Array matrices[] = {in[0].reshape(as_a), in[1].reshape(as_b)};
                      return matmul_reference(matrices).reshape(result);
                    }};
  };
  return {sample("3x5 5x4", {3, 5}, {5, 4}),
          sample("1x1", {1, 1}, {1, 1}),
          sample("17x9 9x1", {17, 9}, {9, 1}),
          sample("batched", {2, 3, 4}, {2, 4, 5}),
          sample("one matrix for all", {2, 3, 4}, {4, 5}),
          sample("batch broadcast", {2, 1, 3, 4}, {5, 4, 2}),
          sample("no rows", {0, 3}, {3, 2}),
          sample("nothing to sum", {2, 0}, {0, 3}),
          sample("many small matrices", {40, 2, 3}, {40, 3, 2}),
          sample("axes that broadcast on both sides", {2, 1, 3, 2}, {1, 3, 2, 4}),
          vectors("vector and matrix", {4}, {4, 3}, {1, 4}, {4, 3}, {3}),
          vectors("matrix and vector", {3, 4}, {4}, {3, 4}, {4, 1}, {3}),
          vectors("two vectors", {5}, {5}, {1, 5}, {5, 1}, {}),
          vectors("batch and vector", {2, 3, 4}, {4}, {2, 3, 4}, {4, 1}, {2, 3}),
          vectors("vector and batch", {3}, {2, 3, 4}, {1, 3}, {2, 3, 4}, {2, 4})};
}
extern const OpDef matmul_op = {"matmul", matmul_samples};

}  // namespace weft
