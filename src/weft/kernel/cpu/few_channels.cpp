#include "weft/kernel/cpu/few_channels.h"

#include <algorithm>
#include <vector>

#include "weft/base/parallel.h"
#include "weft/kernel/cpu/few_channels_loops.h"
#include "weft/kernel/cpu/flat_loops.h"
#include "weft/kernel/cpu/isa.h"
#include "weft/kernel/cpu/onednn.h"

namespace weft::few_channels {
namespace {

constexpr std::int64_t kLanes = 8;
constexpr std::int64_t kChannelsMax = 4;
// Each has a gradient of its own.
constexpr std::int64_t kPartsMax = 8;
// Gradients of two blocks that are worked on at once: half of a first-level cache.
constexpr std::int64_t kGradientFloats = 4096;

const FewChannelsLoops& loops() {
#if defined(__x86_64__)
  return kFewChannelsLoopsAvx2;
#else
  check_failed(__FILE__, __LINE__, "applies()");
#endif
}

struct Plan {
  explicit Plan(const Conv2dSaved& saved)
      : x(saved.x.shape()),
        weight(saved.weight.shape()),
        y(conv2d_shape(x, weight, saved.geometry)),
        geometry(saved.geometry),
        height(x[2] + 2 * geometry.padding[0]),
        width(x[3] + 2 * geometry.padding[1]),
        blocks(weight[0] / kLanes),
        rows_at_once(std::max<std::int64_t>(1, kGradientFloats / (2 * kLanes * y[3]))) {
    for (std::int64_t c = 0; c < weight[1]; ++c) {
      for (std::int64_t p = 0; p < weight[2]; ++p) {
        for (std::int64_t q = 0; q < weight[3]; ++q) {
          taps.push_back((c * height + p * geometry.dilation[0]) * width +
                         q * geometry.dilation[1]);
        }
      }
    }
  }
  std::int64_t tap_count() const { return static_cast<std::int64_t>(taps.size()); }
  // Of one pair of blocks.
  std::int64_t pair_floats() const { return tap_count() * 2 * kLanes; }
  std::int64_t pairs() const { return (blocks + 1) / 2; }
  std::int64_t padded_floats() const { return x[1] * height * width; }

  Shape x;
  Shape weight;
  Shape y;
  Conv2dGeometry geometry;
  std::int64_t height;  // of the padded image
  std::int64_t width;
  std::int64_t blocks;
  std::int64_t rows_at_once;
  std::vector<std::int64_t> taps;  // offsets in the padded image
};

// Room for one thread, and the sums of one part: weights[pair][tap][16] and bias[O].
struct Work {
  float* padded;
  float* gradients;
  float* weights;
  float* bias;
};

// The image with its padding, which is 0 already.
void pad(const Plan& plan, const float* image, float* padded) {
  for (std::int64_t c = 0; c < plan.x[1]; ++c) {
    for (std::int64_t i = 0; i < plan.x[2]; ++i) {
      std::copy_n(image + (c * plan.x[2] + i) * plan.x[3], plan.x[3],
                  padded + (c * plan.height + i + plan.geometry.padding[0]) * plan.width +
                      plan.geometry.padding[1]);
    }
  }
}

// dy and y: the first value of the image, blocks of 8 channels; y may be null.
void add_image(const Plan& plan, const float* dy, const float* y, const Work& work) {
  const FewChannelsLoops& inner = loops();
  const std::int64_t plane = plan.y[2] * plan.y[3] * kLanes;
  for (std::int64_t pair = 0; pair < plan.pairs(); ++pair) {
    const std::int64_t blocks = std::min<std::int64_t>(2, plan.blocks - 2 * pair);
    for (std::int64_t first = 0; first < plan.y[2]; first += plan.rows_at_once) {
      const std::int64_t rows = std::min(plan.rows_at_once, plan.y[2] - first);
      const std::int64_t pixels = rows * plan.y[3];
      for (std::int64_t b = 0; b < blocks; ++b) {
        const std::int64_t block = 2 * pair + b;
        const std::int64_t at = block * plane + first * plan.y[3] * kLanes;
        inner.mask({dy + at, y != nullptr ? y + at : nullptr, pixels},
                   work.gradients + b * pixels * kLanes, work.bias + block * kLanes);
      }
      const std::int64_t row_step = plan.geometry.stride[0] * plan.width;
      inner.weight_sums({work.padded + first * row_step, plan.taps.data(), plan.tap_count(),
                         row_step, plan.geometry.stride[1], work.gradients, pixels * kLanes, blocks,
                         rows, plan.y[3], work.weights + pair * plan.pair_floats()});
    }
  }
}

// sums[pair][tap][16] to [O, taps].
void write(const Plan& plan, const float* sums, Array& target, bool accumulate) {
  float* const to = target.data<float>();
  for (std::int64_t o = 0; o < plan.weight[0]; ++o) {
    const float* const from = sums + o / 16 * plan.pair_floats() + o % 16;
    for (std::int64_t t = 0; t < plan.tap_count(); ++t) {
      float& value = to[o * plan.tap_count() + t];
      value = accumulate ? value + from[t * 16] : from[t * 16];
    }
  }
}

}  // namespace

bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry) {
  return use_avx2() && geometry.groups == 1 && x[1] <= kChannelsMax && weight[0] % kLanes == 0;
}

void conv2d_backward_weights(const Array& given_dy, const Conv2dSaved& saved,
                             const Conv2dWeightGradients& out) {
  const Plan plan(saved);
  const Array x = saved.x.contiguous();
  const Array dy = in_blocks_of_8(given_dy);
  const Array y = saved.y.defined() ? in_blocks_of_8(saved.y) : Array();
  const auto* const dy_floats = static_cast<const float*>(dy.raw_data());
  const auto* const y_floats = y.defined() ? static_cast<const float*>(y.raw_data()) : nullptr;
  const std::int64_t outputs = plan.weight[0];
  const std::int64_t weight_floats = plan.pairs() * plan.pair_floats();
  const std::int64_t part_floats = weight_floats + outputs;
  const std::int64_t images = plan.x[0];
  const std::int64_t each = (images + kPartsMax - 1) / kPartsMax;
  const std::int64_t parts = (images + each - 1) / each;
  Array sums = Array::zeros({parts, part_floats});
  const std::int64_t x_floats = plan.x[1] * plan.x[2] * plan.x[3];
  const std::int64_t out_floats = outputs * plan.y[2] * plan.y[3];
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    Array padded = Array::zeros({plan.padded_floats()});
    Array gradients = Array::empty({2 * kLanes * plan.rows_at_once * plan.y[3]});
    for (std::int64_t part = begin; part < end; ++part) {
      float* const sum = sums.data<float>() + part * part_floats;
      const Work work{padded.data<float>(), gradients.data<float>(), sum, sum + weight_floats};
      for (std::int64_t i = part * each; i < std::min((part + 1) * each, images); ++i) {
        pad(plan, x.data<float>() + i * x_floats, work.padded);
        add_image(plan, dy_floats + i * out_floats,
                  y_floats != nullptr ? y_floats + i * out_floats : nullptr, work);
      }
    }
  });
  float* const total = sums.data<float>();
  for (std::int64_t part = 1; part < parts; ++part) {
    flat_loops().add(total + part * part_floats, total, 0, part_floats);
  }
  write(plan, total, *out.weight, out.accumulate_weight);
  if (out.bias == nullptr) return;
  if (!out.accumulate_bias) out.bias->fill(0.0);
  flat_loops().add(total + weight_floats, out.bias->data<float>(), 0, outputs);
}

}  // namespace weft::few_channels
