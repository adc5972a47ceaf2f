// stack: tensors behind each other along a new axis.
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {

Tensor stack(std::span<const Tensor> parts, int axis) {
  if (parts.empty()) throw_operand("stack", "at least one tensor", "none");
  const int at = normalize_axis("stack", axis, parts[0].ndim() + 1);
  std::vector<Tensor> wide;
  for (const Tensor& part : parts) {
    if (!(part.shape() == parts[0].shape())) {
      throw_operand("stack", "parts of shape " + to_string(parts[0].shape()),
                    to_string(part.shape()));
    }
    wide.push_back(unsqueeze(part, at));
  }
  return concat(wide, at);
}

// Element (i.., k, j..) is that of part k.
static Array stack_reference(std::span<const Array> in, int axis) {
  Shape shape = in[0].shape();
  shape.insert(axis, static_cast<std::int64_t>(in.size()));
  std::int64_t inner = 1;
  for (int i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  Array y = Array::empty(shape, DType::kF64);
  const auto count = static_cast<std::int64_t>(in.size());
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const Array& part = in[static_cast<std::size_t>(i / inner % count)];
    y.data<double>()[i] = part.data<double>()[i / inner / count * inner + i % inner];
  }
  return y;
}

static std::vector<OpSample> stack_samples() {
  const auto sample = [](const char* name, const Shape& shape, int count, int axis) {
    OpSample result{name,
                    {},
                    [axis](std::span<const Tensor> in) { return stack(in, axis); },
                    [axis](std::span<const Array> in) { return stack_reference(in, axis); }};
    for (int i = 0; i < count; ++i) {
      result.inputs.push_back(sample_values(shape, 300 + static_cast<std::uint64_t>(i)));
    }
    return result;
  };
  return {sample("rows", {5}, 3, 0),       sample("columns", {3, 5}, 2, 2),
          sample("middle", {2, 3}, 4, 1),  sample("one element", {}, 1, 0),
          sample("no rows", {0, 3}, 2, 1), sample("one part", {2, 3}, 1, 1)};
}
extern const OpDef stack_op = {"stack", stack_samples};

}  // namespace weft
