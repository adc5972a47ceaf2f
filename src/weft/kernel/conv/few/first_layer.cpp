#include "weft/kernel/conv/few/first_layer.h"

#include <algorithm>
#include <vector>

#include "weft/array/storage/storage.h"
#include "weft/base/parallel.h"
#include "weft/kernel/conv/conv_onednn.h"
#include "weft/kernel/conv/few/few_channels_plan.h"
#include "weft/kernel/conv/few/first_layer_loops.h"
#include "weft/kernel/core/prepared_weights.h"
#include "weft/kernel/elementwise/convert.h"

namespace weft::first_layer {
namespace {

constexpr std::int64_t kPanel = kFirstLayerPanel;
constexpr std::int64_t kBlock = kFirstLayerBlock;
// More channels fill registers of channels.
constexpr std::int64_t kChannelsMax = 4;
// Fewer filters fill registers of pixels better (few_channels.h).
constexpr std::int64_t kFiltersMin = 24;
// 16 KiB of a panel of filters stay in the first-level cache.
constexpr std::int64_t kDepthMax = 256;
// Rows of results of one part of the work, at most.
constexpr std::int64_t kBandRowsMax = 16;

std::int64_t up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit; }

// The sizes of one convolution.
struct Plan {
  Plan(const Shape& x_shape, const Shape& weight, const Conv2dGeometry& given)
      : x(x_shape),
        y(conv2d_shape(x_shape, weight, given)),
        geometry(given),
        depth(weight[1] * weight[2] * weight[3]),
        panels(up(weight[0], kPanel)),
        bands(up(y[2], kBandRowsMax)),
        band_rows(up(y[2], bands)),
        // All that some window reads.
        width(std::max(x[3] + given.padding[1],
                       (y[3] - 1) * given.stride[1] + given.dilation[1] * (weight[3] - 1) + 1)),
        height((band_rows - 1) * given.stride[0] + given.dilation[0] * (weight[2] - 1) + 1),
        taps(few_channels::window_taps(weight, given.dilation, height, width)) {}
  std::int64_t padded_floats() const { return x[1] * height * width; }

  Shape x;
  Shape y;
  Conv2dGeometry geometry;
  std::int64_t depth;
  std::int64_t panels;
  std::int64_t bands;
  std::int64_t band_rows;  // of each but the last, which may have fewer
  std::int64_t width;      // of a padded band
  std::int64_t height;     // the same
  std::vector<std::int64_t> taps;
};

// The rows of an image, in f32, that the results from `first_row` on read, with their padding.
void pad_band(const Plan& plan, const float* image, std::int64_t first_row, float* padded) {
  const std::int64_t top = first_row * plan.geometry.stride[0] - plan.geometry.padding[0];
  const std::int64_t left = plan.geometry.padding[1];
  for (std::int64_t c = 0; c < plan.x[1]; ++c) {
    for (std::int64_t i = 0; i < plan.height; ++i, padded += plan.width) {
      std::fill_n(padded, plan.width, 0.0F);
      const std::int64_t row = top + i;
      if (row < 0 || row >= plan.x[2]) continue;
      std::copy_n(image + (c * plan.x[2] + row) * plan.x[3], std::min(plan.x[3], plan.width - left),
                  padded + left);
    }
  }
}

// [panel][depth][16], zeros behind the last filter.
std::shared_ptr<const Storage> pack(const Plan& plan, const Array& weight) {
  const std::int64_t size = plan.panels * plan.depth * kPanel;
  auto packed = Storage::allocate(static_cast<std::size_t>(size) * sizeof(float));
  auto* const to = static_cast<float*>(packed->data());
  std::fill_n(to, size, 0.0F);
  for (std::int64_t o = 0; o < weight.dim(0); ++o) {
    const float* const filter = weight.data<float>() + o * plan.depth;
    float* const lane = to + o / kPanel * plan.depth * kPanel + o % kPanel;
    for (std::int64_t k = 0; k < plan.depth; ++k) lane[k * kPanel] = filter[k];
  }
  return packed;
}

// The kept ones, where filters are kept.
std::shared_ptr<const Storage> packed_filters(const Plan& plan, const Array& weight) {
  const auto make = [&] { return pack(plan, weight); };
  const auto kept = PreparedWeights::get<Storage>(weight, WeightForm::kFirstLayerPanels, make);
  return kept != nullptr ? kept : make();
}

void convolve(const FirstLayerRow<float>& row) { first_layer_loops().convolve(row); }
void convolve(const FirstLayerRow<std::uint16_t>& row) {
  first_layer_loops().convolve_to_bf16(row);
}

template <class T>
void forward(const Plan& plan, const Array& x, const Array& weight, const std::vector<float>& bias,
             bool relu, Array& y) {
  const auto packed = packed_filters(plan, weight);
  const auto* const weights = static_cast<const float*>(packed->data());
  const std::int64_t at_once = first_layer_loops().panels;
  const std::int64_t block_step = plan.y[2] * plan.y[3] * kBlock;
  parallel_for(plan.x[0] * plan.bands, 1, [&](std::int64_t begin, std::int64_t end) {
    const auto memory =
        Storage::allocate(static_cast<std::size_t>(plan.padded_floats()) * sizeof(float));
    auto* const padded = static_cast<float*>(memory->data());
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t image = part / plan.bands;
      const std::int64_t first_row = part % plan.bands * plan.band_rows;
      pad_band(plan, x.data<float>() + image * plan.x[1] * plan.x[2] * plan.x[3], first_row,
               padded);
      T* const results = static_cast<T*>(y.raw_data()) + image * plan.y[1] / kBlock * block_step;
      for (std::int64_t panel = 0; panel < plan.panels; panel += at_once) {
        const std::int64_t block = panel * kPanel / kBlock;
        for (std::int64_t r = first_row; r < std::min(plan.y[2], first_row + plan.band_rows); ++r) {
          convolve(FirstLayerRow<T>{
              {padded + (r - first_row) * plan.geometry.stride[0] * plan.width, plan.taps.data(),
               plan.depth, plan.geometry.stride[1], weights + panel * plan.depth * kPanel,
               plan.depth * kPanel, std::min(at_once, plan.panels - panel)},
              bias.data() + panel * kPanel,
              relu,
              plan.y[3],
              results + block * block_step + r * plan.y[3] * kBlock,
              block_step,
              std::min(at_once * kPanel / kBlock, plan.y[1] / kBlock - block)});
        }
      }
    }
  });
}

}  // namespace

bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry) {
  return onednn::own_loops_are_faster() && geometry.groups == 1 && x[1] == weight[1] &&
         weight[1] <= kChannelsMax && weight[0] >= kFiltersMin && weight[0] % kBlock == 0 &&
         weight[1] * weight[2] * weight[3] <= kDepthMax;
}

void conv2d_forward(const Array& given, const Array& given_weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y) {
  const Array x = convert(given.contiguous(), DType::kF32);
  const Array weight = convert(given_weight.contiguous(), DType::kF32);
  const Plan plan(x.shape(), weight.shape(), geometry);
  std::vector<float> padded_bias(static_cast<std::size_t>(plan.panels * kPanel));
  if (bias.defined()) {
    const Array dense = convert(bias.contiguous(), DType::kF32);
    std::copy_n(dense.data<float>(), plan.y[1], padded_bias.begin());
  }
  if (y.dtype() == DType::kBF16) {
    forward<std::uint16_t>(plan, x, weight, padded_bias, relu, y);
  } else {
    forward<float>(plan, x, weight, padded_bias, relu, y);
  }
}

}  // namespace weft::first_layer
