// The weight gradients of few_channels.h: some images at a time are padded, and then each thread
// adds what they give to some filters' sums.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/base/parallel.h"
#include "weft/kernel/conv/few/few_channels.h"
#include "weft/kernel/conv/few/few_channels_plan.h"

namespace weft::few_channels {
namespace {

// Floats of images and gradients at a time, so that they stay in the second-level cache.
constexpr std::int64_t kGradientFloats = 64 * 1024;
// A thread has so many filters at least.
constexpr std::int64_t kGradientFilters = 4;

constexpr std::int64_t rounded_up(std::int64_t value) {
  return (value + kFewChannelsLanes - 1) / kFewChannelsLanes * kFewChannelsLanes;
}

// A plane of ones is behind the image's planes: its value of a filter is that of the bias.
struct GradientPlan {
  GradientPlan(const Conv2dSaved& saved, const Shape& weight)
      : plan(saved.x.shape(), weight, saved.geometry),
        taps(plan.taps(weight)),
        positions(rounded_up(plan.positions())),
        x_floats(plan.padded_floats() + kFewChannelsSlack + positions),
        g_floats(plan.y[1] * positions),
        images_at_once(std::clamp<std::int64_t>(kGradientFloats / (x_floats + g_floats), 1,
                                                std::max<std::int64_t>(1, plan.x[0]))) {
    taps.push_back(plan.padded_floats() + kFewChannelsSlack);
  }
  std::int64_t depth() const { return plan.depth + 1; }

  Plan plan;
  std::vector<std::int64_t> taps;
  std::int64_t positions;
  std::int64_t x_floats;  // of a padded image
  std::int64_t g_floats;  // of its gradients
  std::int64_t images_at_once;
};

// The gradients of one image, whose zeros between rows are there already.
void spread_rows(const GradientPlan& sizes, const float* g, float* to) {
  const Plan& plan = sizes.plan;
  for (std::int64_t o = 0; o < plan.y[1]; ++o, to += sizes.positions) {
    for (std::int64_t i = 0; i < plan.y[2]; ++i, g += plan.y[3]) {
      std::copy_n(g, plan.y[3], to + i * plan.width);
    }
  }
}

// Memory of the images at a time, and the sums of all.
struct GradientMemory {
  explicit GradientMemory(const GradientPlan& sizes)
      : x(Array::zeros({sizes.images_at_once, sizes.x_floats})),
        g(Array::zeros({sizes.images_at_once, sizes.g_floats})),
        sums(Array::zeros({sizes.plan.y[1], sizes.depth(), kFewChannelsLanes})) {
    float* const first = x.data<float>() + sizes.taps.back();
    for (std::int64_t i = 0; i < sizes.images_at_once; ++i) {
      std::fill_n(first + i * sizes.x_floats, sizes.positions, 1.0F);
    }
  }
  Array x;
  Array g;
  Array sums;
};

void add_filters(const GradientPlan& sizes, GradientMemory& memory, std::int64_t images) {
  const std::int64_t depth = sizes.depth();
  parallel_for(sizes.plan.y[1], kGradientFilters, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < images; ++i) {
      few_channels_loops().weight_sums(
          {memory.x.data<float>() + i * sizes.x_floats, sizes.taps.data(), depth,
           memory.g.data<float>() + i * sizes.g_floats + begin * sizes.positions, sizes.positions,
           end - begin, sizes.positions,
           memory.sums.data<float>() + begin * depth * kFewChannelsLanes});
    }
  });
}

float sum_of_lanes(const float* lanes) {
  float sum = 0;
  for (std::int64_t i = 0; i < kFewChannelsLanes; ++i) sum += lanes[i];
  return sum;
}

void put(float value, float& to, bool accumulate) { to = accumulate ? to + value : value; }

}  // namespace

void conv2d_backward_weights(const Array& given, const Conv2dSaved& saved,
                             const Conv2dWeightGradients& out) {
  const Array x = saved.x.contiguous();
  const Array g = given.contiguous();
  const GradientPlan sizes(saved, out.weight->shape());
  const Plan& plan = sizes.plan;
  GradientMemory memory(sizes);
  const std::int64_t x_floats = plan.x[1] * plan.x[2] * plan.x[3];
  const std::int64_t g_floats = plan.y[1] * plan.y[2] * plan.y[3];
  for (std::int64_t first = 0; first < plan.x[0]; first += sizes.images_at_once) {
    const std::int64_t images = std::min(sizes.images_at_once, plan.x[0] - first);
    for (std::int64_t i = 0; i < images; ++i) {
      pad_planes(plan, x.data<float>() + (first + i) * x_floats,
                 memory.x.data<float>() + i * sizes.x_floats);
      spread_rows(sizes, g.data<float>() + (first + i) * g_floats,
                  memory.g.data<float>() + i * sizes.g_floats);
    }
    add_filters(sizes, memory, images);
  }
  const float* lanes = memory.sums.data<float>();
  for (std::int64_t o = 0; o < plan.y[1]; ++o) {
    for (std::int64_t k = 0; k < plan.depth; ++k, lanes += kFewChannelsLanes) {
      put(sum_of_lanes(lanes), out.weight->data<float>()[o * plan.depth + k],
          out.accumulate_weight);
    }
    if (out.bias != nullptr) {
      put(sum_of_lanes(lanes), out.bias->data<float>()[o], out.accumulate_bias);
    }
    lanes += kFewChannelsLanes;
  }
}

}  // namespace weft::few_channels
