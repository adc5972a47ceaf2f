// upsample2d: an image at another size, by the nearest pixel or linearly between pixels.
#include <algorithm>
#include <cmath>

#include "weft/kernel/pool/upsample.h"
#include "weft/op/core/half_operand.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/pool.h"

namespace weft {

Tensor upsample2d(const Tensor& x, const Upsample2dOptions& options) {
  check_floating("upsample2d", x);
  if (x.ndim() != 4 || x.dim(2) < 1 || x.dim(3) < 1) {
    throw_operand("upsample2d", "x [N, C, H, W] of at least one pixel", to_string(x.shape()));
  }
  if (options.size[0] < 1 || options.size[1] < 1) {
    throw_operand("upsample2d", "a size of at least 1x1",
                  std::to_string(options.size[0]) + "x" + std::to_string(options.size[1]));
  }
  if (is_half(x)) return cast(upsample2d(widened(x), options), x.dtype());
  const UpsampleSpec spec{options.size, options.mode == UpsampleMode::kBilinear,
                          options.align_corners};
  const auto grow = [spec](const Array& a) { return upsample2d_forward(a, spec); };
  const auto shrink = [spec, shape = x.shape()](const Array& a) {
    return upsample2d_backward(a, shape, spec);
  };
  return linear_map("upsample2d", x, grow, shrink);
}

static Array upsample2d_reference(const Array& x, const Upsample2dOptions& options) {
  Array y = Array::empty({x.dim(0), x.dim(1), options.size[0], options.size[1]}, DType::kF64);
  const auto place = [&](std::int64_t i, int axis) {
    const auto in = static_cast<double>(x.dim(axis));
    const auto out = static_cast<double>(options.size[static_cast<std::size_t>(axis - 2)]);
    const auto at = static_cast<double>(i);
    if (options.mode == UpsampleMode::kNearest) return std::floor(at * in / out + 1e-9);
    if (options.align_corners) return out > 1 ? at * (in - 1) / (out - 1) : 0.0;
    return std::clamp((at + 0.5) * in / out - 0.5, 0.0, in - 1);
  };
  for (std::int64_t at = 0; at < y.size(); ++at) {
    const std::int64_t area = y.dim(2) * y.dim(3);
    const double row = place(at % area / y.dim(3), 2);
    const double column = place(at % y.dim(3), 3);
    double sum = 0;
    for (std::int64_t r = 0; r < x.dim(2); ++r) {
      for (std::int64_t c = 0; c < x.dim(3); ++c) {
        // Tents of width 2 around the pixels.
        const double weight = std::max(0.0, 1 - std::abs(row - static_cast<double>(r))) *
                              std::max(0.0, 1 - std::abs(column - static_cast<double>(c)));
        sum += weight * x.data<double>()[(at / area * x.dim(2) + r) * x.dim(3) + c];
      }
    }
    y.data<double>()[at] = sum;
  }
  return y;
}

static std::vector<OpSample> upsample2d_samples() {
  const auto sample = [](const char* name, const Shape& shape, const Upsample2dOptions& options) {
    return OpSample{
        name,
        {sample_values(shape, 44)},
        [options](std::span<const Tensor> in) { return upsample2d(in[0], options); },
        [options](std::span<const Array> in) { return upsample2d_reference(in[0], options); }};
  };
  constexpr UpsampleMode kLinear = UpsampleMode::kBilinear;
  return {sample("doubled", {2, 3, 3, 4}, {.size = {6, 8}}),
          sample("nearest, any ratio", {1, 2, 5, 3}, {.size = {7, 2}}),
          sample("linear", {2, 2, 3, 4}, {.size = {7, 9}, .mode = kLinear}),
          sample("linear, smaller", {1, 1, 7, 5}, {.size = {3, 2}, .mode = kLinear}),
          sample("linear, corners", {1, 2, 4, 3},
                 {.size = {7, 1}, .mode = kLinear, .align_corners = true}),
          sample("one pixel", {1, 1, 1, 1}, {.size = {1, 1}}),
          sample("no images", {0, 2, 3, 3}, {.size = {6, 6}})};
}
extern const OpDef upsample2d_op = {"upsample2d", upsample2d_samples};

}  // namespace weft
