#include "weft/kernel/conv/few/few_pixels.h"

#include <algorithm>
#include <memory>

#include "weft/base/parallel.h"
#include "weft/kernel/conv/conv_onednn.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/core/optional_operand.h"
#include "weft/kernel/core/prepared_weights.h"
#include "weft/kernel/gemm/gemm.h"

namespace weft::few_pixels {
namespace {

constexpr std::int64_t kLanes = 8;
// Results per filter up to which oneDNN's loops are slower, measured with one image.
constexpr std::int64_t kPixelsMax = 256;
// Floats that all windows together may take: 16 MiB.
constexpr std::int64_t kWindowsMax = 4 << 20;
// Floats that a thread copies at least.
constexpr std::int64_t kCopyGrain = 16 * 1024;

// Blocked images [N][C / 8][height][width][8].
struct Blocks {
  explicit Blocks(const Array& blocked)
      : data(static_cast<float*>(blocked.raw_data())),
        blocks(blocked.dim(1) / kLanes),
        height(blocked.dim(2)),
        width(blocked.dim(3)) {}
  float* at(std::int64_t image, std::int64_t block, std::int64_t pixel) const {
    return data + ((image * blocks + block) * height * width + pixel) * kLanes;
  }

  float* data;
  std::int64_t blocks;
  std::int64_t height;
  std::int64_t width;
};

// The values that one result reads: for each block of channels tap by tap, 8 at once.
void copy_window(const Blocks& x, std::int64_t image, const Pair& first, const Shape& weight,
                 const Conv2dGeometry& geometry, float* row) {
  const std::int64_t taps = weight[2] * weight[3];
  for (std::int64_t block = 0; block < x.blocks; ++block) {
    float* const to = row + block * kLanes * taps;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t r = first[0] + tap / weight[3] * geometry.dilation[0];
      const std::int64_t c = first[1] + tap % weight[3] * geometry.dilation[1];
      const bool inside = r >= 0 && r < x.height && c >= 0 && c < x.width;
      if (inside) {
        std::copy_n(x.at(image, block, r * x.width + c), kLanes, to + tap * kLanes);
      } else {
        std::fill_n(to + tap * kLanes, kLanes, 0.0F);
      }
    }
  }
}

// rows[pixel of y][value of a window].
void copy_windows(const Blocks& x, const Shape& y, const Shape& weight,
                  const Conv2dGeometry& geometry, float* rows) {
  const std::int64_t depth = weight[1] * weight[2] * weight[3];
  const std::int64_t pixels = y[2] * y[3];
  parallel_for(y[0] * pixels, 1 + kCopyGrain / depth, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Pair first = geometry.padding;
      first[0] = i % pixels / y[3] * geometry.stride[0] - geometry.padding[0];
      first[1] = i % pixels % y[3] * geometry.stride[1] - geometry.padding[1];
      copy_window(x, i / pixels, first, weight, geometry, rows + i * depth);
    }
  });
}

// products [pixel of y][channel] to y.
void write_blocks(const float* products, const Blocks& y, std::int64_t images) {
  const std::int64_t pixels = y.height * y.width;
  for (std::int64_t i = 0; i < images * pixels; ++i) {
    for (std::int64_t block = 0; block < y.blocks; ++block, products += kLanes) {
      std::copy_n(products, kLanes, y.at(i / pixels, block, i % pixels));
    }
  }
}

// Filters [O, C, kh, kw] as rows [O][value of a window].
Array in_order_of_windows(const Array& weight) {
  const std::int64_t taps = weight.dim(2) * weight.dim(3);
  const std::int64_t depth = weight.dim(1) * taps;
  Array rows = Array::empty({weight.dim(0), depth});
  const float* const from = weight.data<float>();
  float* const to = rows.data<float>();
  parallel_for(weight.dim(0), 1 + kCopyGrain / depth, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * depth; i < end * depth; i += kLanes * taps) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
          to[i + tap * kLanes + lane] = from[i + lane * taps + tap];
        }
      }
    }
  });
  return rows;
}

// Null where nothing is kept.
std::shared_ptr<const PackedMatrix> packed_filters(const Array& weight) {
  return PreparedWeights::get<PackedMatrix>(weight, WeightForm::kWindowPanels, [&] {
    const Array rows = in_order_of_windows(weight);
    const std::int64_t depth = rows.dim(1);
    return std::make_shared<PackedMatrix>(GemmOperand{rows.data<float>(), 1, depth}, depth,
                                          rows.dim(0));
  });
}

}  // namespace

bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry) {
  const bool fits = onednn::own_loops_are_faster() && geometry.groups == 1 && x[1] == weight[1] &&
                    weight[1] > 0 && weight[0] % kLanes == 0 && weight[1] % kLanes == 0;
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
  copy_windows(Blocks(x), y.shape(), filters, geometry, rows);
  const GemmOperand a{rows, depth, 1};
  const GemmOutput out{products, filters[0], false,
                       dense_bias.defined() ? dense_bias.data<float>() : nullptr, relu};
  if (const auto packed = packed_filters(weight)) {
    gemm(pixels, a, *packed, out);
  } else {
    const Array b = in_order_of_windows(weight);
    gemm({pixels, filters[0], depth}, a, {b.data<float>(), 1, depth}, out);
  }
  write_blocks(products, Blocks(y), y.dim(0));
}

}  // namespace weft::few_pixels
