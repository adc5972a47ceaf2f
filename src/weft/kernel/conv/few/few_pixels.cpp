#include "weft/kernel/conv/few/few_pixels.h"

#include <memory>

#include "weft/base/parallel.h"
#include "weft/kernel/conv/conv_onednn.h"
#include "weft/kernel/conv/windows/window_filters.h"
#include "weft/kernel/conv/windows/windows.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/core/optional_operand.h"
#include "weft/kernel/gemm/gemm.h"

namespace weft::few_pixels {
namespace {

// Results per filter up to which oneDNN's loops are slower, measured with one image.
constexpr std::int64_t kPixelsMax = 256;
// Floats that all windows together may take: 16 MiB.
constexpr std::int64_t kWindowsMax = 4 << 20;
// Floats that a thread copies at least.
constexpr std::int64_t kCopyGrain = 16 * 1024;

// rows[pixel of y][value of a window].
void copy_windows(const Array& x, const Shape& y, const Shape& weight,
                  const Conv2dGeometry& geometry, float* rows) {
  const windows::WindowGrid grid = windows::windows_of_results(y, weight, geometry);
  const std::int64_t depth = weight[1] * weight[2] * weight[3];
  parallel_for(y[0] * grid.results(), 1 + kCopyGrain / depth,
               [&](std::int64_t begin, std::int64_t end) {
                 windows::gather(windows::blocked_images<const float>(x), grid,
                                 {begin, end - begin}, {0, depth / windows::kLanes},
                                 windows::GroupRows<float>{rows + begin * depth, depth});
               });
}

// products [pixel of y][channel] to y.
void write_blocks(const float* products, const windows::BlockedImages<float>& y) {
  const std::int64_t pixels = y.height * y.width;
  for (std::int64_t i = 0; i < y.images * pixels; ++i) {
    for (std::int64_t block = 0; block < y.blocks; ++block, products += windows::kLanes) {
      windows::copy_group(products, y.at(i / pixels, block, i % pixels));
    }
  }
}

}  // namespace

bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry) {
  const bool fits = onednn::own_loops_are_faster() && geometry.groups == 1 && x[1] == weight[1] &&
                    weight[1] > 0 && weight[0] % windows::kLanes == 0 &&
                    weight[1] % windows::kLanes == 0;
  if (!fits) return false;
  const Shape y = conv2d_shape(x, weight, geometry);
  const std::int64_t pixels = y[0] * y[2] * y[3];
  return pixels <= kPixelsMax && pixels * weight[1] * weight[2] * weight[3] <= kWindowsMax;
}

void conv2d_forward(const Array& given, const Array& given_weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y) {
  const Array x = in_blocks_of_8(given);
  const Shape& filters = given_weight.shape();
  const Array weight = given_weight.contiguous();
  const Array dense_bias = dense(bias);
  const std::int64_t depth = weight.size() / filters[0];
  const std::int64_t pixels = y.dim(0) * y.dim(2) * y.dim(3);
  const auto memory =
      Storage::allocate(static_cast<std::size_t>(pixels * (depth + filters[0])) * sizeof(float));
  auto* const rows = static_cast<float*>(memory->data());
  float* const products = rows + pixels * depth;
  copy_windows(x, y.shape(), filters, geometry, rows);
  const GemmOperand a{rows, depth, 1};
  const GemmOutput out{products, filters[0], false,
                       dense_bias.defined() ? dense_bias.data<float>() : nullptr, relu};
  if (const auto packed = windows::kept_filters(weight)) {
    gemm(pixels, a, *packed, out);
  } else {
    const Array b = windows::in_order_of_windows(weight);
    gemm({pixels, filters[0], depth}, a, {b.data<float>(), 1, depth}, out);
  }
  write_blocks(products, windows::blocked_images<float>(y));
}

}  // namespace weft::few_pixels
