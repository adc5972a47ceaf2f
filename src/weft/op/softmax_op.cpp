// softmax: y = e^x / sum e^x along an axis; dx = y (dy - sum(dy y)).
#include <algorithm>
#include <cmath>

#include "weft/kernel/softmax.h"
#include "weft/op/operands.h"
#include "weft/op/sample.h"
#include "weft/op/softmax.h"

namespace weft {

Tensor softmax(const Tensor& x, int axis) {
  check_floating("softmax", x);
  const int at = normalize_axis("softmax", axis, x.ndim());
  // Rows along the last axis, which `at` changes places with.
  const Array y = softmax_rows(x.array().strided().transpose(at, -1));
  return record("softmax", y.transpose(at, -1), {&x},
                [y, at](const Array& dy, const InputGradients& dx) {
                  const Array rows = dy.strided().transpose(at, -1);
                  dx.add(0, softmax_rows_gradient(y, rows).transpose(at, -1));
                });
}

static Array reference(const Array& x, int axis) {
  const Array rows = x.transpose(axis, -1).clone();
  const std::int64_t count = rows.dim(-1);
  Array y = Array::empty(rows.shape(), DType::kF64);
  for (std::int64_t begin = 0; begin < rows.size(); begin += count) {
    const double* const in = rows.data<double>() + begin;
    double total = 0;
    for (std::int64_t i = 0; i < count; ++i) total += std::exp(in[i] - in[0]);
    for (std::int64_t i = 0; i < count; ++i) {
      y.data<double>()[begin + i] = std::exp(in[i] - in[0]) / total;
    }
  }
  return y.transpose(axis, -1).clone();
}

static std::vector<OpSample> samples() {
  const auto sample = [](const char* name, const Shape& shape, int axis) {
    return OpSample{name,
                    {sample_values(shape, 31, -4.0, 4.0)},
                    [axis](std::span<const Tensor> in) { return softmax(in[0], axis); },
                    [axis](std::span<const Array> in) { return reference(in[0], axis); }};
  };
  return {sample("3x10", {3, 10}, 1),           sample("first axis", {5, 3}, 0),
          sample("middle axis", {2, 7, 3}, -2), sample("long row", {1, 130}, -1),
          sample("one element", {1}, 0),        sample("no rows", {0, 4}, 1),
          sample("no columns", {3, 0}, 1)};
}
extern const OpDef softmax_op = {"softmax", samples};

}  // namespace weft
