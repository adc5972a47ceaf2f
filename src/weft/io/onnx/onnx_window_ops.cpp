// Convolutions and poolings.
//
// What Weft's operations do at once (two axes, the same padding on both sides) they do; the rest is
// padded first, and poolings of other kinds go axis by axis over shifted slices: the largest value
// and the sum of a window are those of its lines.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "weft/io/onnx/onnx_operator.h"
#include "weft/op/ops.h"

namespace weft {
namespace {

using Tensors = std::vector<Tensor>;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kSideMax = 1 << 20;

// The window of one axis.
struct Window {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;
  std::int64_t after = 0;
  // Behind `after`, where ceil_mode adds a last window.
  std::int64_t extra = 0;

  std::int64_t reach() const { return dilation * (kernel - 1) + 1; }
};

Integers list(const OnnxCall& call, const char* name, std::size_t count, std::int64_t otherwise) {
  Integers values = call.integers(name).value_or(Integers(count, otherwise));
  if (values.size() != count) {
    call.fail(fmt::format("{} {}", count, name), fmt::format("{}", values.size()));
  }
  for (const std::int64_t value : values) {
    if (value < 0 || value > kSideMax) {
      call.fail(fmt::format("{} in [0, 2^20]", name), fmt::format("{}", value));
    }
  }
  return values;
}

// The windows over the axes of x behind the first two, whose sizes are `kernel`.
std::vector<Window> windows_of(const OnnxCall& call, const Tensor& x, const Integers& kernel) {
  const std::size_t count = kernel.size();
  const Integers strides = list(call, "strides", count, 1);
  const Integers dilations = list(call, "dilations", count, 1);
  const Integers pads = list(call, "pads", 2 * count, 0);
  const std::string automatic = call.text("auto_pad", "NOTSET");
  std::vector<Window> windows(count);
  for (std::size_t i = 0; i < count; ++i) {
    Window& window = windows[i];
    window = {kernel[i], strides[i], dilations[i], pads[i], pads[i + count], 0};
    if (window.kernel < 1 || window.kernel > kSideMax || window.stride < 1 || window.dilation < 1) {
      call.fail("kernel, strides and dilations of at least 1", "less");
    }
    if (automatic == "VALID") window.before = window.after = 0;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const std::int64_t size = x.dim(static_cast<int>(i) + 2);
      const std::int64_t outputs = (size + window.stride - 1) / window.stride;
      const std::int64_t pad =
          std::max<std::int64_t>(0, (outputs - 1) * window.stride + window.reach() - size);
      window.before = automatic == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
      window.after = pad - window.before;
    }
  }
  return windows;
}

bool is_even(const Window& window) { return window.before == window.after && window.extra == 0; }

std::vector<AxisPadding> padding_of(const std::vector<Window>& windows, bool with_extra) {
  std::vector<AxisPadding> padding(2);
  for (const Window& window : windows) {
    padding.push_back({window.before, window.after + (with_extra ? window.extra : 0)});
  }
  return padding;
}

Tensor padded(const OnnxCall& call, const Tensor& x, const std::vector<Window>& windows,
              double value) {
  Integers shape(x.shape().begin(), x.shape().end());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    shape[i + 2] += windows[i].before + windows[i].after + windows[i].extra;
  }
  call.bounded(shape);
  return pad(x, padding_of(windows, true), PadMode::kConstant, value);
}

void require_image(const OnnxCall& call, const Tensor& x, int ndim_min, int ndim_max) {
  if (x.ndim() < ndim_min || x.ndim() > ndim_max) {
    call.fail(fmt::format("{} to {} axes", ndim_min, ndim_max), to_string(x.shape()));
  }
}

// [N, C, D, H, W], padded already: a convolution of each plane with each plane of the weights,
// summed.
Tensor conv_of_planes(const OnnxCall& call, const Tensor& x, const std::vector<Window>& windows) {
  const Tensor& weight = call.in(1);
  const Window& deep = windows[0];
  const Window& high = windows[1];
  const Window& wide = windows[2];
  if (x.dim(2) < deep.reach()) call.fail("a window within the padded input", "a larger one");
  const std::int64_t planes = (x.dim(2) - deep.reach()) / deep.stride + 1;
  const Tensor by_plane = permute(x, {2, 0, 1, 3, 4});
  Tensor sums;
  for (std::int64_t k = 0; k < deep.kernel; ++k) {
    const std::int64_t begin = k * deep.dilation;
    const Tensor own =
        slice(by_plane, 0, begin, begin + (planes - 1) * deep.stride + 1, deep.stride);
    const Tensor part = conv2d(reshape(own, {planes * x.dim(0), x.dim(1), x.dim(3), x.dim(4)}),
                               squeeze(slice(weight, 2, k, k + 1), 2), {},
                               {.stride = {high.stride, wide.stride},
                                .dilation = {high.dilation, wide.dilation},
                                .groups = call.integer("group", 1)});
    sums = sums.defined() ? sums + part : part;
  }
  const Tensor y = permute(
      reshape(sums, {planes, x.dim(0), weight.dim(0), sums.dim(2), sums.dim(3)}), {1, 2, 0, 3, 4});
  return call.has(2) ? y + reshape(call.in(2), {weight.dim(0), 1, 1, 1}) : y;
}

Tensors conv(const OnnxCall& call) {
  Tensor x = call.in(0);
  const Tensor& weight = call.in(1);
  require_image(call, x, 3, 5);
  if (weight.ndim() != x.ndim()) call.fail("weights of as many axes", to_string(weight.shape()));
  const Integers kernel(weight.shape().begin() + 2, weight.shape().end());
  std::vector<Window> windows = windows_of(call, x, kernel);
  if (!std::all_of(windows.begin(), windows.end(), is_even)) {
    x = padded(call, x, windows, 0.0);
    for (Window& window : windows) window.before = window.after = 0;
  }
  const Window& a = windows[0];
  const std::int64_t groups = call.integer("group", 1);
  const Tensor bias = call.optional_in(2);
  if (x.ndim() == 5) return {conv_of_planes(call, padded(call, x, windows, 0.0), windows)};
  if (x.ndim() == 3) {
    return {conv1d(
        x, weight, bias,
        {.stride = a.stride, .padding = a.before, .dilation = a.dilation, .groups = groups})};
  }
  const Window& b = windows[1];
  return {conv2d(x, weight, bias,
                 {.stride = {a.stride, b.stride},
                  .padding = {a.before, b.before},
                  .dilation = {a.dilation, b.dilation},
                  .groups = groups})};
}

// The pads that make the outputs have the given or the automatic sizes.
void fit_transposed(const OnnxCall& call, const Tensor& x, std::vector<Window>& windows,
                    const Integers& output_padding) {
  const std::string automatic = call.text("auto_pad", "NOTSET");
  std::optional<Integers> sizes = call.integers("output_shape");
  const bool is_same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!sizes && is_same) {
    sizes.emplace();
    for (std::size_t i = 0; i < windows.size(); ++i) {
      sizes->push_back(x.dim(static_cast<int>(i) + 2) * windows[i].stride);
    }
  }
  if (!sizes) return;
  // Some models give the whole shape.
  if (sizes->size() == windows.size() + 2) sizes->erase(sizes->begin(), sizes->begin() + 2);
  if (sizes->size() != windows.size()) call.fail("a size for each axis", "others");
  for (std::size_t i = 0; i < windows.size(); ++i) {
    Window& window = windows[i];
    const std::int64_t all =
        window.stride * (x.dim(static_cast<int>(i) + 2) - 1) + output_padding[i] + window.reach();
    // Below 0: more is asked for than there is, and comes behind.
    const std::int64_t pad = all - std::clamp<std::int64_t>((*sizes)[i], 0, kSideMax);
    window.before = pad < 0 ? 0 : automatic == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
    window.after = pad - window.before;
  }
}

Tensors conv_transpose(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const Tensor& weight = call.in(1);
  require_image(call, x, 3, 4);
  if (weight.ndim() != x.ndim()) call.fail("weights of as many axes", to_string(weight.shape()));
  const Integers kernel(weight.shape().begin() + 2, weight.shape().end());
  std::vector<Window> windows = windows_of(call, x, kernel);
  const Integers output_padding = list(call, "output_padding", windows.size(), 0);
  fit_transposed(call, x, windows, output_padding);
  Integers shape(x.shape().begin(), x.shape().end());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    shape[i + 2] = windows[i].stride * x.dim(static_cast<int>(i) + 2) + windows[i].reach();
  }
  call.bounded(shape);
  const std::int64_t groups = call.integer("group", 1);
  const Window& a = windows[0];
  Tensor y = x.ndim() == 3
                 ? conv_transpose1d(x, weight, {},
                                    {.stride = a.stride, .dilation = a.dilation, .groups = groups})
                 : conv_transpose2d(x, weight, {},
                                    {.stride = {a.stride, windows[1].stride},
                                     .dilation = {a.dilation, windows[1].dilation},
                                     .groups = groups});
  // All of it is there: cut what the pads take, append what the output padding adds.
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const std::int64_t end = y.dim(axis) + output_padding[i] - windows[i].after;
    if (end <= windows[i].before) call.fail("pads that leave something", "all cut");
    std::vector<AxisPadding> more(static_cast<std::size_t>(y.ndim()));
    more[i + 2].after = std::max<std::int64_t>(0, end - y.dim(axis));
    if (more[i + 2].after > 0) y = pad(y, more);
    y = slice(y, axis, windows[i].before, end);
  }
  if (!call.has(2)) return {y};
  Integers channels(static_cast<std::size_t>(y.ndim()), 1);
  channels[1] = call.in(2).size();
  return {y + reshape(call.in(2), Shape(std::span<const std::int64_t>(channels)))};
}

using Combine = Tensor (*)(const Tensor&, const Tensor&);

// `combine` over all windows of x, which is padded already.
Tensor over_windows(const OnnxCall& call, Tensor x, const std::vector<Window>& windows,
                    Combine combine) {
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Window& window = windows[i];
    const int axis = static_cast<int>(i) + 2;
    const std::int64_t steps = (x.dim(axis) - window.reach()) / window.stride;
    if (x.dim(axis) < window.reach()) call.fail("a window within the padded input", "a larger one");
    Tensor line;
    for (std::int64_t k = 0; k < window.kernel; ++k) {
      const std::int64_t begin = k * window.dilation;
      const Tensor shifted =
          slice(x, axis, begin, begin + steps * window.stride + 1, window.stride);
      line = line.defined() ? combine(line, shifted) : shifted;
    }
    x = line;
  }
  return x;
}

std::vector<Window> pool_windows(const OnnxCall& call, const Tensor& x) {
  require_image(call, x, 3, 6);
  const auto count = static_cast<std::size_t>(x.ndim() - 2);
  const Integers kernel = call.required("kernel_shape", OnnxAttributeKind::kIntegers).integers;
  if (kernel.size() != count) call.fail("a kernel of the image's axes", "another");
  std::vector<Window> windows = windows_of(call, x, kernel);
  if (call.integer("ceil_mode", 0) == 0) return windows;
  for (std::size_t i = 0; i < count; ++i) {
    Window& window = windows[i];
    const std::int64_t size = x.dim(static_cast<int>(i) + 2) + window.before + window.after;
    const std::int64_t rest = (size - window.reach()) % window.stride;
    // A last window that would begin in the padding is left out.
    const std::int64_t begin = size - window.reach() - rest + window.stride;
    if (rest > 0 && begin < size - window.after) window.extra = window.stride - rest;
  }
  return windows;
}

bool fits_pool2d(const Tensor& x, const std::vector<Window>& windows) {
  return is_floating(x.dtype()) && windows.size() == 2 &&
         std::all_of(windows.begin(), windows.end(), [](const Window& window) {
           return is_even(window) && window.dilation == 1 && window.before <= window.kernel / 2;
         });
}

Pool2dOptions options_of(const std::vector<Window>& windows, bool count_include_pad) {
  Pool2dOptions options;
  for (std::size_t i = 0; i < 2; ++i) {
    options.kernel[i] = windows[i].kernel;
    options.stride[i] = windows[i].stride;
    options.padding[i] = windows[i].before;
  }
  options.count_include_pad = count_include_pad;
  return options;
}

Tensors max_pool(const OnnxCall& call) {
  if (call.wants(1)) call.fail("MaxPool without Indices", "an output for them");
  const Tensor& x = call.in(0);
  const std::vector<Window> windows = pool_windows(call, x);
  if (fits_pool2d(x, windows)) return {max_pool2d(x, options_of(windows, true))};
  const double lowest = is_floating(x.dtype())    ? -std::numeric_limits<double>::infinity()
                        : x.dtype() == DType::kU8 ? 0.0
                        : x.dtype() == DType::kI8 ? -128.0
                                                  : -2147483648.0;
  return {over_windows(call, padded(call, x, windows, lowest), windows, maximum)};
}

Tensors average_pool(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const std::vector<Window> windows = pool_windows(call, x);
  const bool counts_padding = call.integer("count_include_pad", 0) != 0;
  if (fits_pool2d(x, windows)) return {avg_pool2d(x, options_of(windows, counts_padding))};
  // How many values each window has: the sums of an image of ones.
  Integers plane(x.shape().begin(), x.shape().end());
  plane[0] = plane[1] = 1;
  Tensor ones_there = full(call.bounded(plane), 1.0, x.dtype());
  std::vector<Window> rest = windows;
  if (counts_padding) {
    ones_there = pad(ones_there, padding_of(windows, false), PadMode::kConstant, 1.0);
    for (Window& window : rest) window.before = window.after = 0;
  }
  const Tensor counts = over_windows(call, padded(call, ones_there, rest, 0.0), windows, add);
  const Tensor sums = over_windows(call, padded(call, x, windows, 0.0), windows, add);
  return {div(sums, counts)};
}

std::vector<int> image_axes(const OnnxCall& call, const Tensor& x) {
  require_image(call, x, 3, Dims::kDimsMax);
  std::vector<int> axes;
  for (int i = 2; i < x.ndim(); ++i) axes.push_back(i);
  return axes;
}
Tensors global_average(const OnnxCall& call) {
  return {mean(call.in(0), image_axes(call, call.in(0)), true)};
}
Tensors global_max(const OnnxCall& call) {
  return {max(call.in(0), image_axes(call, call.in(0)), true)};
}

constexpr OnnxOperator kWindowOps[] = {
    {"AveragePool", average_pool},     {"Conv", conv},
    {"ConvTranspose", conv_transpose}, {"GlobalAveragePool", global_average},
    {"GlobalMaxPool", global_max},     {"MaxPool", max_pool},
};

}  // namespace

std::span<const OnnxOperator> onnx_window_ops() { return kWindowOps; }

}  // namespace weft
