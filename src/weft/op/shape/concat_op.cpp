// concat: tensors one after the other along an axis; each gets its part of the gradient.
#include "weft/autograd/op_trace.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

Shape joined_shape(std::span<const Tensor> parts, int axis) {
  Shape shape = parts[0].shape();
  shape[axis] = 0;
  for (const Tensor& part : parts) {
    Shape expected = parts[0].shape();
    if (part.ndim() == expected.size()) expected[axis] = part.shape()[axis];
    if (part.shape() != expected) {
      throw_operand("concat",
                    "parts like the first, " + to_string(parts[0].shape()) + ", but along axis " +
                        std::to_string(axis),
                    to_string(part.shape()));
    }
    shape[axis] += part.shape()[axis];
  }
  return shape;
}

}  // namespace

Tensor concat(std::span<const Tensor> parts, int axis) {
  if (parts.empty()) throw_operand("concat", "at least one tensor", "none");
  const int at = normalize_axis("concat", axis, parts[0].ndim());
  const Shape shape = joined_shape(parts, at);
  DType dtype = parts[0].dtype();
  bool differs = false;
  for (const Tensor& part : parts) {
    differs = differs || part.dtype() != dtype;
    dtype = promote_types(dtype, part.dtype());
  }
  if (differs) {
    std::vector<Tensor> promoted;
    for (const Tensor& part : parts) promoted.push_back(cast(part, dtype));
    return concat(promoted, at);
  }
  Array y = Array::empty(shape, dtype, parts[0].device());
  std::vector<const Tensor*> inputs;
  std::vector<std::int64_t> ends;
  std::int64_t end = 0;
  for (const Tensor& part : parts) {
    const std::int64_t begin = end;
    end += part.shape()[at];
    y.slice(at, begin, end).copy_from(part.array().strided());
    inputs.push_back(&part);
    ends.push_back(end);
  }
  if (op_tracing()) {
    trace_attributes("concat", {{"axis", {static_cast<double>(at)}}});
  }
  return record(
      "concat", std::move(y), inputs,
      [ends, at](const Array& gradient, const InputGradients& dx) {
        const Array dy = gradient.strided();
        for (std::size_t i = 0; i < ends.size(); ++i) {
          const int index = static_cast<int>(i);
          const std::int64_t begin = i == 0 ? 0 : ends[i - 1];
          if (dx.needs(index)) dx.add(index, dy.slice(at, begin, ends[i]));
        }
      },
      [ends, at](const Tensor& dy, const TensorGradients& dx) {
        for (std::size_t i = 0; i < ends.size(); ++i) {
          const int index = static_cast<int>(i);
          const std::int64_t begin = i == 0 ? 0 : ends[i - 1];
          if (dx.needs(index)) dx.add(index, slice(dy, at, begin, ends[i]));
        }
      });
}

// Along the last of two axes, row by row.
static Array concat_reference(std::span<const Array> in) {
  std::int64_t columns = 0;
  for (const Array& part : in) columns += part.dim(1);
  const std::int64_t rows = in[0].dim(0);
  std::vector<double> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (const Array& part : in) {
      const double* const row = part.data<double>() + i * part.dim(1);
      values.insert(values.end(), row, row + part.dim(1));
    }
  }
  return Array::from(values, {rows, columns});
}

static std::vector<OpSample> concat_samples() {
  const auto sample = [](const char* name, std::int64_t rows, std::vector<std::int64_t> columns) {
    OpSample result{
        name, {}, [](std::span<const Tensor> in) { return concat(in, -1); }, concat_reference};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      result.inputs.push_back(sample_values({rows, columns[i]}, 77 + i));
    }
    return result;
  };
  return {sample("two", 3, {2, 5}),
          sample("five, one empty", 2, {1, 3, 0, 2, 4}),
          sample("one", 2, {3}),
          sample("one element", 1, {1}),
          sample("one element each", 1, {1, 1}),
          sample("no rows", 0, {2, 3})};
}
extern const OpDef concat_op = {"concat", concat_samples};

}  // namespace weft
