// log_softmax: y = x - ln sum e^x along an axis; dx = dy - e^y sum(dy).
#include <cmath>

#include "weft/kernel/softmax.h"
#include "weft/op/operands.h"
#include "weft/op/sample.h"
#include "weft/op/softmax.h"

namespace weft {

Tensor log_softmax(const Tensor& x, int axis) {
  check_floating("log_softmax", x);
  const int at = normalize_axis("log_softmax", axis, x.ndim());
  const Array y = log_softmax_rows(x.array().strided().transpose(at, -1));
  return record("log_softmax", y.transpose(at, -1), {&x},
                [y, at](const Array& dy, const InputGradients& dx) {
                  const Array rows = dy.strided().transpose(at, -1);
                  dx.add(0, log_softmax_rows_gradient(y, rows).transpose(at, -1));
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
      y.data<double>()[begin + i] = in[i] - in[0] - std::log(total);
    }
  }
  return y.transpose(axis, -1).clone();
}

static std::vector<OpSample> samples() {
  const auto sample = [](const char* name, const Shape& shape, int axis, double offset) {
    return OpSample{name,
                    {sample_values(shape, 33, offset - 4.0, offset + 4.0)},
                    [axis](std::span<const Tensor> in) { return log_softmax(in[0], axis); },
                    [axis](std::span<const Array> in) { return reference(in[0], axis); }};
  };
  OpSample large = sample("large logits", {2, 5}, 1, 1000.0);
  // The input itself is rounded to 6e-5 in f32.
  large.f32_tolerance = 1e-4;
  return {sample("3x10", {3, 10}, 1, 0.0),          sample("first axis", {5, 3}, 0, 0.0),
          sample("middle axis", {2, 7, 3}, 1, 0.0), sample("one element", {1, 1}, 1, 0.0),
          sample("no rows", {0, 4}, 1, 0.0),        large};
}
extern const OpDef log_softmax_op = {"log_softmax", samples};

}  // namespace weft
