// slice: x[start:stop:step] along one axis; a view. The gradient is 0 elsewhere.
#include <limits>

#include "weft/autograd/op_trace.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {

Tensor slice(const Tensor& x, int axis, std::optional<std::int64_t> start,
             std::optional<std::int64_t> stop, std::int64_t step) {
  Array y = x.array().strided().slice(axis, start, stop, step);
  if (op_tracing()) {
    trace_attributes("slice",
                     {{"axis", {static_cast<double>(axis)}},
                      {"start", start ? traced(std::array{*start}) : std::vector<double>()},
                      {"stop", stop ? traced(std::array{*stop}) : std::vector<double>()},
                      {"step", {static_cast<double>(step)}}});
  }
  // What has no value has no bits either, which a capture must have.
  using Limits = std::numeric_limits<std::int64_t>;
  const std::int64_t first = start.value_or(step > 0 ? 0 : Limits::max());
  const std::int64_t end = stop.value_or(step > 0 ? Limits::max() : Limits::min());
  return record(
      "slice", std::move(y), {&x},
      [=, shape = x.shape()](const Array& dy, const InputGradients& dx) {
        Array gradient = Array::zeros(shape, dy.dtype(), dy.device());
        gradient.slice(axis, first, end, step).copy_from(dy.strided());
        dx.add(0, std::move(gradient));
      },
      [=, shape = x.shape()](const Tensor& dy, const TensorGradients& dx) {
        const auto spread = [=](const Array& g) {
          Array whole = Array::zeros(shape, g.dtype(), g.device());
          whole.slice(axis, first, end, step).copy_from(g.strided());
          return whole;
        };
        const auto cut = [=](const Array& g) { return g.strided().slice(axis, first, end, step); };
        dx.add(0, linear_map("slice_gradient", dy, spread, cut));
      });
}

// Columns first, first + step, ... of a matrix, `count` of them.
static OpSample columns(const char* name, const Shape& shape, std::optional<std::int64_t> start,
                        std::optional<std::int64_t> stop, std::vector<std::int64_t> picked) {
  const std::int64_t step = picked.size() > 1 ? picked[1] - picked[0] : 1;
  return {name,
          {sample_values(shape, 75)},
          [=](std::span<const Tensor> in) { return slice(in[0], -1, start, stop, step); },
          [picked](std::span<const Array> in) {
            const std::int64_t rows = in[0].dim(0);
            const auto count = static_cast<std::int64_t>(picked.size());
            Array y = Array::empty({rows, count}, DType::kF64);
            for (std::int64_t i = 0; i < rows * count; ++i) {
              const std::int64_t column = picked[static_cast<std::size_t>(i % count)];
              y.data<double>()[i] = in[0].data<double>()[i / count * in[0].dim(1) + column];
            }
            return y;
          }};
}

static std::vector<OpSample> slice_samples() {
  return {columns("middle", {3, 6}, 1, 4, {1, 2, 3}),
          columns("every second", {3, 7}, {}, {}, {0, 2, 4, 6}),
          columns("backwards", {2, 5}, {}, {}, {4, 3, 2, 1, 0}),
          columns("from the end", {2, 5}, -2, {}, {3, 4}),
          columns("past the end", {2, 5}, 3, 99, {3, 4}),
          columns("nothing left", {2, 5}, 4, 2, {}),
          columns("one element", {1, 1}, {}, {}, {0}),
          columns("no rows", {0, 4}, 1, 3, {1, 2})};
}
extern const OpDef slice_op = {"slice", slice_samples};

}  // namespace weft
