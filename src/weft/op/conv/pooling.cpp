#include "weft/op/conv/pooling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {

Pool2dGeometry check_pool(const char* op, const Tensor& x, const Pool2dOptions& options) {
  check_floating(op, x);
  if (x.ndim() != 4) throw_operand(op, "x [N, C, H, W]", to_string(x.shape()));
  check_pair(op, "kernel", options.kernel, 1);
  check_pair(op, "stride", options.stride, 0);
  check_pair(op, "padding", options.padding, 0);
  Pool2dGeometry geometry{options.kernel, options.stride, options.padding, options.ceil_mode,
                          options.count_include_pad};
  for (int axis = 0; axis < 2; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (geometry.stride[i] == 0) geometry.stride[i] = geometry.kernel[i];
    if (2 * geometry.padding[i] > geometry.kernel[i]) {
      throw_operand(op, "padding of at most half the kernel", std::to_string(options.padding[i]));
    }
    if (geometry.kernel[i] > x.dim(2 + axis) + 2 * geometry.padding[i]) {
      throw_operand(op, "a kernel no larger than the padded image",
                    std::to_string(options.kernel[i]) + " over " + to_string(x.shape()));
    }
  }
  return geometry;
}

void check_adaptive_pool(const char* op, const Tensor& x, const Pair& size) {
  check_floating(op, x);
  if (x.ndim() != 4 || x.dim(2) < 1 || x.dim(3) < 1) {
    throw_operand(op, "x [N, C, H, W] of at least one pixel", to_string(x.shape()));
  }
  if (size[0] < 1 || size[1] < 1) {
    throw_operand(op, "at least 1x1 windows",
                  std::to_string(size[0]) + "x" + std::to_string(size[1]));
  }
}

double largest_of_window(const PoolWindow& window, const Pool2dOptions& /*options*/) {
  return *std::max_element(window.values.begin(), window.values.end());
}

double mean_of_window(const PoolWindow& window, const Pool2dOptions& options) {
  const auto count = static_cast<double>(
      options.count_include_pad ? window.places : static_cast<std::int64_t>(window.values.size()));
  return std::accumulate(window.values.begin(), window.values.end(), 0.0) / count;
}

namespace {

// Positions of a window along one axis: first to first + length on the image with padding.
struct Range {
  std::int64_t first;
  std::int64_t length;
};

// One window after another until one would reach over the end; with ceil_mode that one too if it
// begins on the image and the one before left something out.
std::vector<Range> ranges(std::int64_t size, const Pool2dOptions& options, std::size_t axis) {
  const std::int64_t step = options.stride[axis] == 0 ? options.kernel[axis] : options.stride[axis];
  const std::int64_t end = size + options.padding[axis];
  std::vector<Range> result;
  std::int64_t reached = -options.padding[axis];
  for (std::int64_t first = -options.padding[axis];; first += step) {
    const std::int64_t over = first + options.kernel[axis] - end;
    const bool last = over > 0;
    if (last && !(options.ceil_mode && first < size && reached < end)) break;
    result.push_back({first, std::min(options.kernel[axis], end - first)});
    if (last) break;
    reached = first + options.kernel[axis];
  }
  return result;
}

PoolWindow window_of(const double* image, const Array& x, const Range& rows, const Range& columns) {
  PoolWindow window;
  window.places = rows.length * columns.length;
  for (std::int64_t r = rows.first; r < rows.first + rows.length; ++r) {
    for (std::int64_t c = columns.first; c < columns.first + columns.length; ++c) {
      if (r < 0 || r >= x.dim(2) || c < 0 || c >= x.dim(3)) continue;
      window.values.push_back(image[r * x.dim(3) + c]);
    }
  }
  return window;
}

Array reference_over(const Array& x, const std::vector<Range>& down,
                     const std::vector<Range>& across,
                     const std::function<double(const PoolWindow&)>& of_window) {
  Array y = Array::empty({x.dim(0), x.dim(1), static_cast<std::int64_t>(down.size()),
                          static_cast<std::int64_t>(across.size())},
                         DType::kF64);
  std::int64_t at = 0;
  for (std::int64_t plane = 0; plane < x.dim(0) * x.dim(1); ++plane) {
    const double* const image = x.data<double>() + plane * x.dim(2) * x.dim(3);
    for (const Range& rows : down) {
      for (const Range& columns : across) {
        y.data<double>()[at++] = of_window(window_of(image, x, rows, columns));
      }
    }
  }
  return y;
}

}  // namespace

Array pool_reference(const Array& x, const Pool2dOptions& options, const PoolOfWindow& of_window) {
  return reference_over(x, ranges(x.dim(2), options, 0), ranges(x.dim(3), options, 1),
                        [&](const PoolWindow& window) { return of_window(window, options); });
}

Tensor as_image(const char* op, const Tensor& x) {
  check_floating(op, x);
  if (x.ndim() != 3) throw_operand(op, "x [N, C, L]", to_string(x.shape()));
  return reshape(x, {x.dim(0), x.dim(1), 1, x.dim(2)});
}

Tensor as_sequence(const Tensor& y) { return reshape(y, {y.dim(0), y.dim(1), y.dim(3)}); }

Pool2dOptions options_2d(const Pool1dOptions& options) {
  return {{1, options.kernel},
          {1, options.stride == 0 ? options.kernel : options.stride},
          {0, options.padding},
          options.ceil_mode,
          options.count_include_pad};
}

std::vector<OpSample> pool_samples(
    const std::function<Tensor(const Tensor&, const Pool2dOptions&)>& op,
    const PoolOfWindow& of_window) {
  const auto sample = [&](const char* name, const Shape& shape, const Pool2dOptions& options) {
    return OpSample{name,
                    {sample_values(shape, 41)},
                    [op, options](std::span<const Tensor> in) { return op(in[0], options); },
                    [of_window, options](std::span<const Array> in) {
                      return pool_reference(in[0], options, of_window);
                    }};
  };
  return {
      sample("2x2", {2, 3, 4, 6}, {}),
      sample("odd sizes", {1, 9, 5, 7}, {}),
      sample("overlapping", {2, 2, 7, 6}, {.kernel = {3, 3}, .stride = {2, 1}}),
      sample("gaps", {1, 2, 8, 9}, {.kernel = {2, 1}, .stride = {3, 4}}),
      sample("padded", {1, 3, 5, 4}, {.kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 1}}),
      sample("rounded up", {2, 2, 6, 8}, {.kernel = {3, 3}, .stride = {2, 2}, .ceil_mode = true}),
      sample("rounded up, padded", {1, 3, 7, 5},
             {.kernel = {3, 2}, .stride = {3, 3}, .padding = {1, 1}, .ceil_mode = true}),
      sample("padding does not count", {1, 2, 6, 5},
             {.kernel = {3, 3},
              .stride = {2, 2},
              .padding = {1, 1},
              .ceil_mode = true,
              .count_include_pad = false}),
      sample("whole image", {2, 1, 17, 16}, {.kernel = {17, 16}}),
      sample("one pixel", {1, 1, 1, 1}, {.kernel = {1, 1}}),
      sample("no images", {0, 2, 4, 4}, {}),
      sample("no channels", {2, 0, 4, 4}, {})};
}

std::vector<OpSample> pool1d_samples(
    const std::function<Tensor(const Tensor&, const Pool1dOptions&)>& op,
    const PoolOfWindow& of_window) {
  const auto sample = [&](const char* name, const Shape& shape, const Pool1dOptions& options) {
    return OpSample{name,
                    {sample_values(shape, 42)},
                    [op, options](std::span<const Tensor> in) { return op(in[0], options); },
                    [of_window, options](std::span<const Array> in) {
                      const Array& x = in[0];
                      const Array y = pool_reference(x.reshape({x.dim(0), x.dim(1), 1, x.dim(2)}),
                                                     options_2d(options), of_window);
                      return y.reshape({y.dim(0), y.dim(1), y.dim(3)});
                    }};
  };
  return {sample("pairs", {2, 3, 8}, {}),
          sample("overlapping, padded", {1, 2, 9}, {.kernel = 3, .stride = 2, .padding = 1}),
          sample("rounded up", {2, 1, 8}, {.kernel = 3, .stride = 3, .ceil_mode = true}),
          sample("one value", {1, 1, 1}, {.kernel = 1}), sample("no rows", {0, 2, 4}, {})};
}

std::vector<OpSample> adaptive_pool_samples(
    const std::function<Tensor(const Tensor&, const Pair&)>& op, const PoolOfWindow& of_window) {
  using Size = Pair;
  const auto parts = [](std::int64_t size, std::int64_t count) {
    std::vector<Range> result;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto place = [&](std::int64_t k) {
        return static_cast<double>(k * size) / static_cast<double>(count);
      };
      const auto first = static_cast<std::int64_t>(std::floor(place(i) + 1e-9));
      result.push_back({first, static_cast<std::int64_t>(std::ceil(place(i + 1) - 1e-9)) - first});
    }
    return result;
  };
  const auto sample = [&](const char* name, const Shape& shape, const Size& size) {
    return OpSample{name,
                    {sample_values(shape, 43)},
                    [op, size](std::span<const Tensor> in) { return op(in[0], size); },
                    [=](std::span<const Array> in) {
                      return reference_over(
                          in[0], parts(in[0].dim(2), size[0]), parts(in[0].dim(3), size[1]),
                          [&](const PoolWindow& window) { return of_window(window, {}); });
                    }};
  };
  return {sample("that divide", {2, 3, 6, 4}, {3, 2}),
          sample("that do not", {1, 2, 7, 5}, {3, 4}),
          sample("the whole image", {2, 3, 5, 4}, {1, 1}),
          sample("more than pixels", {1, 1, 3, 2}, {5, 3}),
          sample("one pixel", {1, 1, 1, 1}, {1, 1}),
          sample("no images", {0, 2, 3, 3}, {2, 2})};
}

}  // namespace weft
