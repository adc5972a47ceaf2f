#include "weft/op/reduce/row_op.h"

namespace weft {

static Array map_lines(const Array& x, int axis, void (*reference)(std::span<double> line)) {
  Array lines = x.transpose(axis, -1).clone();
  const auto count = static_cast<std::size_t>(lines.dim(-1));
  const std::span<double> values = lines.flat<double>();
  for (std::size_t i = 0; i < values.size(); i += count) reference(values.subspan(i, count));
  return lines.transpose(axis, -1).clone();
}

std::vector<OpSample> row_samples(Tensor (*op)(const Tensor& x, int axis),
                                  void (*reference)(std::span<double> line)) {
  const auto sample = [=](const char* name, const Shape& shape, int axis) {
    return OpSample{name,
                    {sample_values(shape, 31, -4.0, 4.0)},
                    [=](std::span<const Tensor> in) { return op(in[0], axis); },
                    [=](std::span<const Array> in) { return map_lines(in[0], axis, reference); }};
  };
  return {sample("3x10", {3, 10}, 1),           sample("first axis", {5, 3}, 0),
          sample("middle axis", {2, 7, 3}, -2), sample("long row", {1, 130}, -1),
          sample("one element", {1}, 0),        sample("no rows", {0, 4}, 1),
          sample("no columns", {3, 0}, 1)};
}

}  // namespace weft
