#include "weft/op/norm/row_norm.h"

#include "weft/autograd/node.h"
#include "weft/autograd/op_trace.h"
#include "weft/kernel/elementwise/convert.h"
#include "weft/kernel/norm/norm.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/half_operand.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/norm/normalizing.h"
#include "weft/op/reduce.h"

namespace weft {
namespace {

Shape inner_shape(const Tensor& x, int axes) {
  return Shape(std::span<const std::int64_t>(x.shape().end() - axes, x.shape().end()));
}

void check_row_norm(const char* op, const Tensor& x, int axes, const RowNorm& norm) {
  check_floating(op, x);
  if (axes < 1 || axes > x.ndim()) {
    throw_operand(op, "between 1 and " + std::to_string(x.ndim()) + " axes", std::to_string(axes));
  }
  const Shape inner = inner_shape(x, axes);
  for (const Tensor* vector : {&norm.weight, &norm.bias}) {
    if (!vector->defined()) continue;
    if (vector->shape() == inner && vector->dtype() == x.dtype()) continue;
    throw_operand(op,
                  "weight and bias of shape " + to_string(inner) + " and type " +
                      std::string(to_string(x.dtype())),
                  to_string(vector->shape()) + " " + std::string(to_string(vector->dtype())));
  }
}

// The output alone.
Array normed(const Tensor& x, std::int64_t length, const RowNorm& norm) {
  const RowNormOptions options{length, norm.eps, norm.centered, false};
  if (x.dtype() == DType::kF32 || x.dtype() == DType::kF64) {
    return norm_rows(x.array(), norm.weight.array(), norm.bias.array(), options).y;
  }
  return convert(norm_rows(computed(x.array()), computed(norm.weight.array()),
                           computed(norm.bias.array()), options)
                     .y,
                 x.dtype());
}

// What the gradients need.
struct RowNormSaved {
  Array x;
  Array weight;
  NormedRows statistics;
  RowNormOptions options;
};

// bf16 and f16 compute in f32; what is kept for the gradients has the 16-bit type.
void run_row_norm_backward(const RowNormSaved& saved, const Shape& inner, const Array& dy,
                           const InputGradients& dx) {
  const NormGradients gradients =
      norm_rows_gradient(computed(dy), computed(saved.x), computed(saved.weight), saved.statistics,
                         saved.options, {dx.needs(0), dx.needs(1), dx.needs(2)});
  const auto add = [&](int index, const Array& gradient, const Shape& shape) {
    if (dx.needs(index)) dx.add(index, convert(gradient, dy.dtype()).reshape(shape));
  };
  add(0, gradients.x, saved.x.shape());
  add(1, gradients.weight, inner);
  add(2, gradients.bias, inner);
}

void run_row_norm_tensor_backward(const RowNormSaved& saved, int axes, const Tensor& given,
                                  const TensorGradients& dx) {
  const DType type = given.dtype();
  const Tensor dy = widened(given);
  const Tensor x = widened(dx.input(0, saved.x));
  std::vector<int> inner;
  std::vector<int> outer;
  for (int i = 0; i < x.ndim(); ++i) (i < x.ndim() - axes ? outer : inner).push_back(i);
  const auto add_over_rows = [&outer](const Tensor& g) {
    return outer.empty() ? g : sum(g, outer);
  };
  const bool centered = saved.options.centered;
  const NormalizedTensors normal = normalize_tensors(x, inner, saved.options.eps, centered);
  if (dx.needs(1)) dx.add(1, cast(add_over_rows(dy * normal.values), type));
  if (dx.needs(2)) dx.add(2, cast(add_over_rows(dy), type));
  if (!dx.needs(0)) return;
  const Tensor g = saved.weight.defined() ? dy * widened(dx.input(1, saved.weight)) : dy;
  dx.add(0, cast(normalize_tensors_gradient(g, normal, inner, centered), type));
}

}  // namespace

Tensor row_norm(const char* op, const Tensor& x, int axes, const RowNorm& norm) {
  check_row_norm(op, x, axes, norm);
  const Shape inner = inner_shape(x, axes);
  if (op_tracing()) {
    trace_attributes(op, {{"axes", {static_cast<double>(axes)}}, {"eps", {norm.eps}}});
  }
  if (!recording({&x, &norm.weight, &norm.bias})) {
    return unrecorded(op, normed(x, inner.num_elements(), norm), {&x, &norm.weight, &norm.bias});
  }
  RowNormSaved saved{
      x.array(), norm.weight.array(), {}, {inner.num_elements(), norm.eps, norm.centered}};
  NormedRows forward = norm_rows(computed(saved.x), computed(saved.weight),
                                 computed(norm.bias.array()), saved.options);
  Array y = convert(forward.y, x.dtype());
  forward.y = Array();
  saved.statistics = std::move(forward);
  return record(
      op, std::move(y), {&x, &norm.weight, &norm.bias},
      [saved, inner](const Array& dy, const InputGradients& dx) {
        run_row_norm_backward(saved, inner, dy, dx);
      },
      [saved, axes](const Tensor& dy, const TensorGradients& dx) {
        run_row_norm_tensor_backward(saved, axes, dy, dx);
      });
}

std::vector<OpSample> row_norm_samples(
    const std::function<Tensor(std::span<const Tensor>, int axes)>& op,
    const RowNormReference& reference) {
  const auto sample = [&](const char* name, const Shape& shape, int axes, bool affine) {
    std::vector<Array> inputs = {sample_values(shape, 64, -2.0, 3.0)};
    const Shape inner(std::span<const std::int64_t>(shape.end() - axes, shape.end()));
    if (affine) inputs.push_back(sample_values(inner, 65, 0.5, 1.5));
    if (affine && reference.centered) inputs.push_back(sample_values(inner, 66));
    const std::int64_t n = inner.num_elements();
    return OpSample{name, std::move(inputs),
                    [op, axes](std::span<const Tensor> in) { return op(in, axes); },
                    [reference, n](std::span<const Array> in) {
                      return norm_reference(in, {[n](std::int64_t i) { return i / n; },
                                                 [n](std::int64_t i) { return i % n; },
                                                 reference.eps, reference.centered});
                    }};
  };
  return {sample("one axis", {3, 7}, 1, true),      sample("two axes", {2, 3, 5}, 2, true),
          sample("no weight", {4, 6}, 1, false),    sample("all axes", {5}, 1, true),
          sample("whole lanes", {70, 16}, 1, true), sample("long rows", {2, 131}, 1, true),
          sample("one element", {1, 1}, 1, true),   sample("no rows", {0, 4}, 1, true)};
}

}  // namespace weft
