// linear: y = x weight^T + bias, then the activation a: with g = dy a'(y), dx = g weight,
// dweight = g^T x, dbias = the sum of g's rows.
#include <algorithm>
#include <optional>

#include "weft/autograd/op_trace.h"
#include "weft/kernel/gemm/linear.h"
#include "weft/kernel/gemm/matmul.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/linear.h"
#include "weft/op/matmul.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_floating("linear", x);
  check_floating("linear", weight);
  if (weight.ndim() != 2 || x.ndim() < 1 || x.dim(-1) != weight.dim(1)) {
    throw_operand("linear", "x [..., in] and a weight [out, in]",
                  to_string(x.shape()) + " and " + to_string(weight.shape()));
  }
  if (bias.defined() && bias.shape() != Shape{weight.dim(0)}) {
    throw_operand("linear", "a bias of " + to_string(Shape{weight.dim(0)}),
                  to_string(bias.shape()));
  }
  if (x.dtype() != weight.dtype() || (bias.defined() && bias.dtype() != x.dtype())) {
    throw_operand(
        "linear", "operands of one type",
        std::string(to_string(x.dtype())) + " and " + std::string(to_string(weight.dtype())));
  }
}

std::int64_t rows_of(const Shape& shape) {
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

// x, weight: what the gradients need; y: only with the activation.
struct LinearSaved {
  Array x;
  Array weight;
  Array y;
};

void run_linear_backward(const LinearSaved& saved, const Array& dy, const InputGradients& dx) {
  const Shape shape = {saved.x.dim(0), saved.weight.dim(0)};
  Array g = dy.strided().reshape(shape);
  if (saved.y.defined()) g = relu_backward(g, saved.y);
  if (dx.needs(1)) {
    GradientTarget target = dx.target(1);
    matmul(g, saved.x, target.array, {.transpose_a = true, .accumulate = target.accumulate});
  }
  if (dx.needs(2)) {
    GradientTarget target = dx.target(2);
    column_sums(g, target.array, target.accumulate);
  }
  if (dx.needs(0)) {
    GradientTarget target = dx.target(0);
    Array rows = target.array.reshape(saved.x.shape());
    matmul(g, saved.weight, rows, {.accumulate = target.accumulate});
  }
}

void run_linear_tensors(const LinearSaved& saved, const Tensor& dy, const TensorGradients& dx) {
  Tensor g = reshape(dy, {saved.x.dim(0), saved.weight.dim(0)});
  if (saved.y.defined()) {
    const auto mask = [y = saved.y](const Array& a) { return relu_backward(a.strided(), y); };
    g = linear_map("relu_gradient", g, mask, mask);
  }
  Shape shape = dy.shape();
  shape[shape.size() - 1] = saved.weight.dim(1);
  if (dx.needs(0)) dx.add(0, reshape(matmul(g, dx.input(1, saved.weight)), shape));
  if (dx.needs(1)) {
    const Tensor rows = reshape(dx.input(0, saved.x.reshape(shape)), saved.x.shape());
    dx.add(1, matmul(transpose(g, 0, 1), rows));
  }
  if (dx.needs(2)) dx.add(2, sum(g, {0}));
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation) {
  check_linear(x, weight, bias);
  const bool relu = activation == Activation::kRelu;
  if (op_tracing()) trace_attributes("linear", {{"relu", {relu ? 1.0 : 0.0}}});
  if (!recording({&x, &weight, &bias})) {
    std::optional<Array> copy;
    const Array& rows =
        x.ndim() == 2 ? strided_in(x.array(), copy) : contiguous_in(x.array(), copy);
    return unrecorded("linear", linear_forward(rows, weight.array(), bias.array(), relu),
                      {&x, &weight, &bias});
  }
  const Array rows = x.array().strided().reshape({rows_of(x.shape()), weight.dim(1)});
  const Array w = weight.array().strided();
  const Array y = linear_forward(rows, w, bias.array(), relu);
  Shape shape = x.shape();
  shape[shape.size() - 1] = weight.dim(0);
  const LinearSaved saved{rows, w, relu ? y : Array()};
  return record(
      "linear", y.reshape(shape), {&x, &weight, &bias},
      [saved](const Array& dy, const InputGradients& dx) { run_linear_backward(saved, dy, dx); },
      [saved](const Tensor& dy, const TensorGradients& dx) { run_linear_tensors(saved, dy, dx); });
}

static Array linear_reference(std::span<const Array> in, Activation activation) {
  const Array& x = in[0];
  const Array& weight = in[1];
  Shape shape = x.shape();
  shape[shape.size() - 1] = weight.dim(0);
  Array y = Array::empty(shape, DType::kF64);
  const std::int64_t depth = weight.dim(1);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::int64_t row = i / weight.dim(0);
    const std::int64_t column = i % weight.dim(0);
    double sum = in.size() > 2 ? in[2].data<double>()[column] : 0.0;
    for (std::int64_t k = 0; k < depth; ++k) {
      sum += x.data<double>()[row * depth + k] * weight.data<double>()[column * depth + k];
    }
    y.data<double>()[i] = activation == Activation::kRelu ? std::max(sum, 0.0) : sum;
  }
  return y;
}

static OpSample linear_sample(const char* name, std::vector<Array> inputs, Activation activation) {
  return {name, std::move(inputs),
          [activation](std::span<const Tensor> in) {
            return linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), activation);
          },
          [activation](std::span<const Array> in) { return linear_reference(in, activation); }};
}

static std::vector<OpSample> linear_samples() {
  const auto values = [](const Shape& shape, std::uint64_t seed) {
    return sample_values(shape, seed);
  };
  return {
      linear_sample("7x5 to 3", {values({7, 5}, 1), values({3, 5}, 2), values({3}, 3)},
                    Activation::kNone),
      linear_sample("relu", {values({13, 19}, 4), values({17, 19}, 5), values({17}, 6)},
                    Activation::kRelu),
      linear_sample("no bias, three axes", {values({2, 3, 4}, 7), values({5, 4}, 8)},
                    Activation::kRelu),
      linear_sample("vector", {values({6}, 9), values({2, 6}, 10), values({2}, 11)},
                    Activation::kNone),
      linear_sample("one element", {values({1, 1}, 12), values({1, 1}, 13), values({1}, 14)},
                    Activation::kNone),
      linear_sample("no rows", {values({0, 4}, 15), values({3, 4}, 16), values({3}, 17)},
                    Activation::kNone),
      linear_sample("no inputs", {values({2, 0}, 18), values({3, 0}, 19), values({3}, 20)},
                    Activation::kNone),
  };
}
extern const OpDef linear_op = {"linear", linear_samples};

}  // namespace weft
