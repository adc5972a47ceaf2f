#include "weft/kernel/conv/few/few_channels.h"

#include <algorithm>
#include <vector>

#include "weft/array/storage/storage.h"
#include "weft/base/parallel.h"
#include "weft/kernel/conv/conv_onednn.h"
#include "weft/kernel/conv/few/few_channels_loops.h"
#include "weft/kernel/conv/few/few_channels_plan.h"
#include "weft/kernel/core/optional_operand.h"

namespace weft::few_channels {
namespace {

// More channels fill registers of channels.
constexpr std::int64_t kChannelsMax = 16;
constexpr std::int64_t kBlock = 8;
// Floats of a padded image and of a filter, so that both stay in the second-level cache.
constexpr std::int64_t kImageMax = 64 * 1024;
constexpr std::int64_t kDepthMax = 1024;

void copy_rows(const Plan& plan, const float* results, float* y) {
  for (std::int64_t o = 0; o < plan.y[1]; ++o) {
    for (std::int64_t i = 0; i < plan.y[2]; ++i, y += plan.y[3]) {
      std::copy_n(results + o * plan.y_step() + i * plan.width, plan.y[3], y);
    }
  }
}

}  // namespace

bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry) {
  const bool blocks = weight[0] % kBlock == 0 && weight[1] % kBlock == 0;
  if (!onednn::own_loops_are_faster() || blocks || geometry.groups != 1 ||
      !(geometry.stride == Pair(1)) || std::max(weight[0], weight[1]) > kChannelsMax ||
      weight.num_elements() == 0) {
    return false;
  }
  const Plan plan(x, weight, geometry);
  return plan.depth <= kDepthMax && plan.padded_floats() <= kImageMax &&
         2 * plan.y[3] >= plan.width;
}

void conv2d_forward(const Array& given, const Array& given_weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y) {
  const Array x = given.contiguous();
  const Array weight = given_weight.contiguous();
  const Array dense_bias = dense(bias);
  const Plan plan(x.shape(), weight.shape(), geometry);
  const std::vector<std::int64_t> taps = plan.taps(weight.shape());
  const float* const images = x.data<float>();
  float* const results = y.data<float>();
  const std::int64_t x_floats = plan.x[1] * plan.x[2] * plan.x[3];
  const std::int64_t y_floats = plan.y[1] * plan.y[2] * plan.y[3];
  const std::int64_t padded_floats = plan.padded_floats() + kFewChannelsSlack;
  parallel_for(plan.x[0], 1, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t floats = padded_floats + plan.y[1] * plan.y_step();
    const auto memory = Storage::allocate(static_cast<std::size_t>(floats) * sizeof(float));
    auto* const padded = static_cast<float*>(memory->data());
    float* const rows = padded + padded_floats;
    std::fill_n(padded, padded_floats, 0.0F);
    for (std::int64_t image = begin; image < end; ++image) {
      pad_planes(plan, images + image * x_floats, padded);
      few_channels_loops().convolve({padded, taps.data(), weight.data<float>(), plan.depth,
                                     dense_bias.defined() ? dense_bias.data<float>() : nullptr,
                                     relu, plan.y[1], plan.positions(), rows, plan.y_step()});
      copy_rows(plan, rows, results + image * y_floats);
    }
  });
}

}  // namespace weft::few_channels
