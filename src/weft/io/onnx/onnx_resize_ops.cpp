// Resize and Upsample, axis by axis: each is a product with a matrix of weights, but nearest, which
// picks.
#include <algorithm>
#include <cmath>

#include "weft/io/onnx/onnx_operator.h"
#include "weft/op/ops.h"

namespace weft {
namespace {

using Tensors = std::vector<Tensor>;

// How one axis changes.
struct AxisResize {
  std::int64_t in = 1;
  std::int64_t out = 1;
  double scale = 1.0;  // as given: out / in up to rounding
  double roi_start = 0.0;
  double roi_end = 1.0;
};

struct ResizeRule {
  std::string mode;         // nearest, linear, cubic
  std::string coordinates;  // coordinate_transformation_mode
  std::string nearest;      // nearest_mode
  double cubic_a = -0.75;
  bool exclude_outside = false;
  double extrapolation = 0.0;
};

// Where in the input the middle of output `x` lies.
double source_of(const AxisResize& axis, const std::string& rule, std::int64_t x) {
  const auto at = static_cast<double>(x);
  const auto in = static_cast<double>(axis.in);
  const double out = axis.scale * in;  // not rounded
  if (rule == "asymmetric") return at / axis.scale;
  if (rule == "align_corners") return axis.out == 1 ? 0.0 : at * (in - 1) / (out - 1);
  if (rule == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale;
  if (rule == "pytorch_half_pixel" && axis.out == 1) return 0.0;
  if (rule == "tf_crop_and_resize") {
    if (axis.out == 1) return 0.5 * (axis.roi_start + axis.roi_end) * (in - 1);
    return axis.roi_start * (in - 1) + at * (axis.roi_end - axis.roi_start) * (in - 1) / (out - 1);
  }
  return (at + 0.5) / axis.scale - 0.5;
}

std::int64_t nearest_of(double source, const std::string& mode) {
  const double down = std::floor(source);
  const double part = source - down;
  if (mode == "floor") return static_cast<std::int64_t>(down);
  if (mode == "ceil") return static_cast<std::int64_t>(std::ceil(source));
  const bool up = mode == "round_prefer_ceil" ? part >= 0.5 : part > 0.5;
  return static_cast<std::int64_t>(up ? down + 1 : down);
}

// The weights of the four (or two) inputs around a source `part` after the second (or first) one.
std::vector<double> weights_at(const ResizeRule& rule, double part) {
  if (rule.mode == "linear") return {1.0 - part, part};
  const double a = rule.cubic_a;
  const auto inner = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto outer = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {outer(1 + part), inner(part), inner(1 - part), outer(2 - part)};
}

bool is_outside(const ResizeRule& rule, const AxisResize& axis, double source) {
  return rule.coordinates == "tf_crop_and_resize" &&
         (source < 0 || source > static_cast<double>(axis.in - 1));
}

// The weights [out, in].
Array matrix_of(const ResizeRule& rule, const AxisResize& axis) {
  Array matrix = Array::zeros({axis.out, axis.in}, DType::kF64);
  double* row = matrix.data<double>();
  for (std::int64_t x = 0; x < axis.out; ++x, row += axis.in) {
    const double source = source_of(axis, rule.coordinates, x);
    if (is_outside(rule, axis, source)) continue;
    const double down = std::floor(source);
    const std::vector<double> weights = weights_at(rule, source - down);
    const std::int64_t first =
        static_cast<std::int64_t>(down) - static_cast<std::int64_t>(weights.size()) / 2 + 1;
    double total = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::int64_t at = first + static_cast<std::int64_t>(i);
      const std::int64_t inside = std::clamp<std::int64_t>(at, 0, axis.in - 1);
      if (rule.exclude_outside && at != inside) continue;
      row[inside] += weights[i];
      total += weights[i];
    }
    if (!rule.exclude_outside || total == 0) continue;
    for (std::int64_t i = 0; i < axis.in; ++i) row[i] /= total;
  }
  return matrix;
}

// 1 where a place of the output lies outside of the region, [out].
Array outside_of(const ResizeRule& rule, const AxisResize& axis) {
  std::vector<bool> outside;
  for (std::int64_t x = 0; x < axis.out; ++x) {
    outside.push_back(is_outside(rule, axis, source_of(axis, rule.coordinates, x)));
  }
  return Array::from(outside, {axis.out});
}

Tensor resized_axis(const ResizeRule& rule, const AxisResize& axis, const Tensor& x, int at) {
  if (rule.mode == "nearest") {
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < axis.out; ++i) {
      const std::int64_t place = nearest_of(source_of(axis, rule.coordinates, i), rule.nearest);
      places.push_back(std::clamp<std::int64_t>(place, 0, axis.in - 1));
    }
    return index_select(x, at, Array::from(places, {axis.out}));
  }
  const Tensor matrix = Tensor(matrix_of(rule, axis).to(DType::kF64));
  return transpose(matmul(transpose(x, at, -1), transpose(matrix, 0, 1)), at, -1);
}

Tensor resized(const ResizeRule& rule, const std::vector<AxisResize>& axes, const Tensor& x) {
  Tensor y = rule.mode == "nearest" ? x : cast(x, DType::kF64);
  for (int at = 0; at < x.ndim(); ++at) {
    const AxisResize& axis = axes[static_cast<std::size_t>(at)];
    const bool is_same = axis.in == axis.out && axis.scale == 1.0 &&
                         (rule.coordinates != "tf_crop_and_resize" ||
                          (axis.roi_start == 0.0 && axis.roi_end == 1.0));
    if (is_same) continue;
    y = resized_axis(rule, axis, y, at);
    if (rule.coordinates != "tf_crop_and_resize") continue;
    std::vector<std::int64_t> line(static_cast<std::size_t>(x.ndim()), 1);
    line[static_cast<std::size_t>(at)] = axis.out;
    const Array outside =
        outside_of(rule, axis).reshape(Shape(std::span<const std::int64_t>(line)));
    y = where(Tensor(outside), full_like(y, rule.extrapolation), y);
  }
  return cast(y, x.dtype());
}

std::vector<double> floats_in(const OnnxCall& call, int index) {
  if (!call.has(index) || call.in(index).size() == 0) return {};
  return call.in(index).array().strided().to(DType::kF64).to_vector<double>();
}

std::vector<AxisResize> axes_of(const OnnxCall& call, int scales_index, int sizes_index) {
  const Tensor& x = call.in(0);
  const auto count = static_cast<std::size_t>(x.ndim());
  std::vector<double> scales = floats_in(call, scales_index);
  std::vector<std::int64_t> sizes;
  if (scales.empty() && call.has(sizes_index)) sizes = call.integers_in(sizes_index);
  if (scales.size() != count && sizes.size() != count) {
    call.fail("a scale or a size for each axis", std::to_string(scales.size()));
  }
  std::vector<AxisResize> axes(count);
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < count; ++i) {
    AxisResize& axis = axes[i];
    axis.in = x.dim(static_cast<int>(i));
    if (axis.in < 1) call.fail("values on each axis", to_string(x.shape()));
    if (sizes.empty()) {
      if (!(scales[i] > 0 && scales[i] < 1e6)) call.fail("scales above 0", "another");
      axis.scale = scales[i];
      axis.out = static_cast<std::int64_t>(std::floor(static_cast<double>(axis.in) * scales[i]));
    } else {
      axis.out = sizes[i];
      axis.scale = static_cast<double>(sizes[i]) / static_cast<double>(axis.in);
    }
    if (axis.out < 1 || axis.out > kOnnxValuesMax / axis.in) {
      call.fail("sizes from 1 on", std::to_string(axis.out));
    }
    shape.push_back(axis.out);
  }
  call.bounded(shape);
  return axes;
}

Tensors resize(const OnnxCall& call) {
  for (const char* const unread : {"axes", "antialias", "keep_aspect_ratio_policy"}) {
    if (call.node().find(unread) != nullptr) call.fail(std::string("no ") + unread, "one");
  }
  const bool is_old = call.opset() < 11;
  std::vector<AxisResize> axes = is_old ? axes_of(call, 1, -1) : axes_of(call, 2, 3);
  ResizeRule rule;
  rule.mode = call.text("mode", "nearest");
  rule.coordinates =
      call.text("coordinate_transformation_mode", is_old ? "asymmetric" : "half_pixel");
  rule.nearest = call.text("nearest_mode", is_old ? "floor" : "round_prefer_floor");
  rule.cubic_a = call.number("cubic_coeff_a", -0.75);
  rule.exclude_outside = call.integer("exclude_outside", 0) != 0;
  rule.extrapolation = call.number("extrapolation_value", 0.0);
  if (rule.mode != "nearest" && rule.mode != "linear" && rule.mode != "cubic") {
    call.fail("mode nearest, linear or cubic", rule.mode);
  }
  if (rule.coordinates == "tf_crop_and_resize") {
    const std::vector<double> roi = floats_in(call, 1);
    if (roi.size() != 2 * axes.size()) call.fail("a region", std::to_string(roi.size()));
    for (std::size_t i = 0; i < axes.size(); ++i) {
      axes[i].roi_start = roi[i];
      axes[i].roi_end = roi[i + axes.size()];
    }
  }
  return {resized(rule, axes, call.in(0))};
}

Tensors upsample(const OnnxCall& call) {
  const ResizeRule rule = {call.text("mode", "nearest"), "asymmetric", "floor"};
  return {resized(rule, axes_of(call, 1, -1), call.in(0))};
}

constexpr OnnxOperator kResizeOps[] = {{"Resize", resize}, {"Upsample", upsample}};

}  // namespace

std::span<const OnnxOperator> onnx_resize_ops() { return kResizeOps; }

}  // namespace weft
