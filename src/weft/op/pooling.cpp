#include "weft/op/pooling.h"

#include "weft/op/operands.h"
#include "weft/op/sample.h"

namespace weft {

Pool2dGeometry check_pool(const char* op, const Tensor& x, const Pool2dOptions& options) {
  check_floating(op, x);
  if (x.ndim() != 4) throw_operand(op, "x [N, C, H, W]", to_string(x.shape()));
  Pool2dGeometry geometry{options.kernel, options.stride, options.padding};
  for (int axis = 0; axis < 2; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (geometry.stride[i] == 0) geometry.stride[i] = geometry.kernel[i];
    if (geometry.kernel[i] < 1 || geometry.stride[i] < 1) {
      throw_operand(
          op, "a kernel of at least 1 and a stride of at least 0",
          std::to_string(options.kernel[i]) + " and " + std::to_string(options.stride[i]));
    }
    if (geometry.padding[i] < 0 || 2 * geometry.padding[i] > geometry.kernel[i]) {
      throw_operand(op, "padding of at most half the kernel", std::to_string(options.padding[i]));
    }
    if (geometry.kernel[i] > x.dim(2 + axis) + 2 * geometry.padding[i]) {
      throw_operand(op, "a kernel no larger than the padded image",
                    std::to_string(options.kernel[i]) + " over " + to_string(x.shape()));
    }
  }
  return geometry;
}

Array pool_reference(const Array& x, const Pool2dOptions& options,
                     const std::function<double(const std::vector<double>&)>& of_window) {
  const auto step = [&](std::size_t i) {
    return options.stride[i] == 0 ? options.kernel[i] : options.stride[i];
  };
  const auto count = [&](int axis) {
    const auto i = static_cast<std::size_t>(axis - 2);
    return (x.dim(axis) + 2 * options.padding[i] - options.kernel[i]) / step(i) + 1;
  };
  Array y = Array::empty({x.dim(0), x.dim(1), count(2), count(3)}, DType::kF64);
  std::int64_t at = 0;
  for (std::int64_t plane = 0; plane < x.dim(0) * x.dim(1); ++plane) {
    const double* const image = x.data<double>() + plane * x.dim(2) * x.dim(3);
    for (std::int64_t i = 0; i < y.dim(2) * y.dim(3); ++i) {
      const std::int64_t top = i / y.dim(3) * step(0) - options.padding[0];
      const std::int64_t left = i % y.dim(3) * step(1) - options.padding[1];
      std::vector<double> values;
      for (std::int64_t p = 0; p < options.kernel[0] * options.kernel[1]; ++p) {
        const std::int64_t row = top + p / options.kernel[1];
        const std::int64_t column = left + p % options.kernel[1];
        if (row < 0 || row >= x.dim(2) || column < 0 || column >= x.dim(3)) continue;
        values.push_back(image[row * x.dim(3) + column]);
      }
      y.data<double>()[at++] = of_window(values);
    }
  }
  return y;
}

std::vector<OpSample> pool_samples(
    const std::function<Tensor(const Tensor&, const Pool2dOptions&)>& op,
    const std::function<double(const std::vector<double>&, const Pool2dOptions&)>& of_window) {
  const auto sample = [&](const char* name, const Shape& shape, const Pool2dOptions& options) {
    return OpSample{name,
                    {sample_values(shape, 41)},
                    [op, options](std::span<const Tensor> in) { return op(in[0], options); },
                    [of_window, options](std::span<const Array> in) {
                      return pool_reference(in[0], options, [&](const std::vector<double>& values) {
                        return of_window(values, options);
                      });
                    }};
  };
  return {sample("2x2", {2, 3, 4, 6}, {}),
          sample("odd sizes", {1, 9, 5, 7}, {}),
          sample("overlapping", {2, 2, 7, 6}, {.kernel = {3, 3}, .stride = {2, 1}}),
          sample("gaps", {1, 2, 8, 9}, {.kernel = {2, 1}, .stride = {3, 4}}),
          sample("padded", {1, 3, 5, 4}, {.kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 1}}),
          sample("whole image", {2, 1, 17, 16}, {.kernel = {17, 16}}),
          sample("one pixel", {1, 1, 1, 1}, {.kernel = {1, 1}}),
          sample("no images", {0, 2, 4, 4}, {}),
          sample("no channels", {2, 0, 4, 4}, {})};
}

}  // namespace weft
