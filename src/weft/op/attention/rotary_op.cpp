// rotary: pairs of values turned by angles that grow with the token's place; the gradient turns
// back.
#include <cmath>

#include "weft/autograd/node.h"
#include "weft/autograd/op_trace.h"
#include "weft/kernel/attention/rotary.h"
#include "weft/op/arithmetic.h"
#include "weft/op/attention.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

Tensor turned(const Tensor& x, const RotaryRun& run) {
  RotaryRun back = run;
  back.inverse = !run.inverse;
  if (op_tracing()) {
    trace_attributes("rotary", {{"base", {run.base}},
                                {"first_place", {static_cast<double>(run.first_place)}},
                                {"inverse", {run.inverse ? 1.0 : 0.0}}});
  }
  return record(
      "rotary", rotary_turn(x.array(), run), {&x},
      [back](const Array& dy, const InputGradients& dx) { dx.add(0, rotary_turn(dy, back)); },
      [back](const Tensor& dy, const TensorGradients& dx) { dx.add(0, turned(dy, back)); });
}

}  // namespace

Tensor rotary(const Tensor& x, const RotaryOptions& options) {
  check_floating("rotary", x);
  if (x.ndim() != 4 || x.dim(3) % 2 != 0) {
    throw_operand("rotary", "[B, T, heads, D] with an even D", to_string(x.shape()));
  }
  if (size_of(x.dtype()) < sizeof(float)) {
    return cast(rotary(cast(x, DType::kF32), options), x.dtype());
  }
  return turned(x, {options.base, options.first_place, false});
}

static Array rotary_reference(const Array& x, const RotaryOptions& options) {
  Array y = Array::empty(x.shape(), DType::kF64);
  const std::int64_t width = x.dim(3);
  for (std::int64_t index = 0; index < x.size(); ++index) {
    const std::int64_t d = index % width;
    const std::int64_t token = index / (width * x.dim(2)) % x.dim(1);
    const std::int64_t pair = d % (width / 2);
    const double angle =
        static_cast<double>(options.first_place + token) /
        std::pow(options.base, 2.0 * static_cast<double>(pair) / static_cast<double>(width));
    const double* const head = x.data<double>() + (index - d);
    const double a = head[pair];
    const double b = head[pair + width / 2];
    y.data<double>()[index] = d < width / 2 ? a * std::cos(angle) - b * std::sin(angle)
                                            : a * std::sin(angle) + b * std::cos(angle);
  }
  return y;
}

static std::vector<OpSample> rotary_samples() {
  const auto sample = [](const char* name, const Shape& shape, const RotaryOptions& options) {
    return OpSample{name,
                    {sample_values(shape, 191)},
                    [=](std::span<const Tensor> in) { return rotary(in[0], options); },
                    [=](std::span<const Array> in) { return rotary_reference(in[0], options); }};
  };
  return {sample("2 heads", {2, 5, 2, 6}, {}), sample("behind a cache", {1, 3, 1, 8}, {500.0, 7}),
          sample("far places", {1, 2, 3, 4}, {10000.0, 4000}),
          sample("no tokens", {2, 0, 1, 4}, {}), sample("no values", {1, 2, 1, 0}, {}),
          // The first value of a pair.
          OpSample{"one element",
                   {sample_values({1, 1, 1, 2}, 192)},
                   [](std::span<const Tensor> in) {
                     return slice(rotary(in[0], {10000.0, 3}), 3, 0, 1);
                   },
                   [](std::span<const Array> in) {
                     return rotary_reference(in[0], {10000.0, 3}).slice(3, 0, 1).clone();
                   }}};
}
extern const OpDef rotary_op = {"rotary", rotary_samples};

}  // namespace weft
