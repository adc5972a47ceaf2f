#include "weft/kernel/conv/direct_weights.h"

#include <algorithm>
#include <vector>

#include "weft/base/parallel.h"
#include "weft/kernel/conv/conv_onednn.h"
#include "weft/kernel/conv/direct_weights_loops.h"
#include "weft/kernel/core/flat_loops.h"
#include "weft/kernel/core/onednn.h"

namespace weft::direct_weights {
namespace {

constexpr std::int64_t kDirectLanes = 8;
constexpr std::int64_t kChannelsMax = 4;
// Each has a gradient of its own.
constexpr std::int64_t kDirectPartsMax = 8;
// Gradients of two blocks that are worked on at once, with the pixels that they meet: they stay in
// a first-level cache.
constexpr std::int64_t kGradientFloats = 4096;
constexpr std::int64_t kGradientFloatsOfBlocks = 2048;
// Padded images that are worked on at once, in the second-level cache.
constexpr std::int64_t kPaddedFloats = 65536;

// Channels pass by in groups: all of few, or blocks of 8. Taps are the weights of a group that
// belong to one output.
struct DirectPlan {
  explicit DirectPlan(const Conv2dSaved& saved)
      : x(saved.x.shape()),
        weight(saved.weight.shape()),
        y(conv2d_shape(x, weight, saved.geometry)),
        geometry(saved.geometry),
        blocked(x[1] > kChannelsMax),
        channels(blocked ? kDirectLanes : x[1]),
        pixel(blocked ? kDirectLanes : 1),
        height(x[2] + 2 * geometry.padding[0]),
        width(x[3] + 2 * geometry.padding[1]),
        blocks(weight[0] / kDirectLanes),
        rows_at_once(std::max<std::int64_t>(
            1, (blocked ? kGradientFloatsOfBlocks : kGradientFloats) / (2 * kDirectLanes * y[3]))),
        images_at_once(std::max<std::int64_t>(1, kPaddedFloats / padded_floats())) {
    for (std::int64_t p = 0; p < weight[2]; ++p) {
      for (std::int64_t q = 0; q < weight[3]; ++q) {
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::int64_t plane = blocked ? 0 : c * height;
          taps.push_back(((plane + p * geometry.dilation[0]) * width + q * geometry.dilation[1]) *
                             pixel +
                         (blocked ? c : 0));
          places.push_back((c * weight[2] + p) * weight[3] + q);
        }
      }
    }
  }
  std::int64_t groups() const { return x[1] / channels; }
  std::int64_t tap_count() const { return static_cast<std::int64_t>(taps.size()); }
  // Sums of one pair of blocks.
  std::int64_t pair_floats() const { return tap_count() * 2 * kDirectLanes; }
  std::int64_t pairs() const { return (blocks + 1) / 2; }
  std::int64_t group_floats() const { return pairs() * pair_floats(); }
  // For rows_at_once rows.
  std::int64_t strips() const { return (y[2] + rows_at_once - 1) / rows_at_once; }
  // For a group of channels of one image.
  std::int64_t plane_floats() const { return channels * x[2] * x[3]; }
  std::int64_t padded_floats() const { return channels * height * width; }

  Shape x;
  Shape weight;
  Shape y;
  Conv2dGeometry geometry;
  bool blocked;
  std::int64_t channels;  // of a group
  std::int64_t pixel;     // floats from one pixel to the next
  std::int64_t height;    // of the padded image
  std::int64_t width;
  std::int64_t blocks;  // of outputs
  std::int64_t rows_at_once;
  std::int64_t images_at_once;
  std::vector<std::int64_t> taps;    // offsets in the padded image
  std::vector<std::int64_t> places;  // of taps among the weights of a group
};

// Images in the orders of the loops; y may be null.
struct Images {
  const float* x;
  const float* dy;
  const float* y;
};

// Room for one thread, and sums: weights[pair][tap][16] and bias[O], null if not wanted.
struct DirectWork {
  float* padded;
  float* gradients;
  float* weights;
  float* bias;
};

// A group's channels of an image with their padding, which is 0 already.
void pad(const DirectPlan& plan, const float* image, float* padded) {
  const std::int64_t row = plan.x[3] * plan.pixel;
  for (std::int64_t c = 0; c < plan.channels / plan.pixel; ++c) {
    for (std::int64_t i = 0; i < plan.x[2]; ++i) {
      std::copy_n(image + (c * plan.x[2] + i) * row, row,
                  padded + ((c * plan.height + i + plan.geometry.padding[0]) * plan.width +
                            plan.geometry.padding[1]) *
                               plan.pixel);
    }
  }
}

// Images [first, first + count).
struct Chunk {
  std::int64_t first;
  std::int64_t count;
};

// Some rows of an image, and two blocks of 8 outputs or the last one alone.
struct Strip {
  std::int64_t image;
  std::int64_t pair;
  std::int64_t first_row;
  std::int64_t rows;
  std::int64_t blocks;
};

Strip strip_of(const DirectPlan& plan, const Chunk& chunk, std::int64_t index) {
  const std::int64_t first = index % plan.strips() * plan.rows_at_once;
  const std::int64_t image = index / plan.strips();
  const std::int64_t pair = image / chunk.count;
  return {chunk.first + image % chunk.count, pair, first,
          std::min(plan.rows_at_once, plan.y[2] - first),
          std::min<std::int64_t>(2, plan.blocks - 2 * pair)};
}

// For block b of the strip in dy and y.
std::int64_t offset_of(const DirectPlan& plan, const Strip& strip, std::int64_t b) {
  const std::int64_t block = strip.image * plan.blocks + 2 * strip.pair + b;
  return (block * plan.y[2] + strip.first_row) * plan.y[3] * kDirectLanes;
}

// g where the output was not cut off, and its sums.
void mask_strip(const DirectPlan& plan, const Images& images, const Strip& strip,
                const DirectWork& work) {
  const std::int64_t pixels = strip.rows * plan.y[3];
  for (std::int64_t b = 0; b < strip.blocks; ++b) {
    const std::int64_t from = offset_of(plan, strip, b);
    float unused[kDirectLanes] = {};
    float* const bias =
        work.bias != nullptr ? work.bias + (2 * strip.pair + b) * kDirectLanes : unused;
    direct_weights_loops().mask(
        {images.dy + from, images.y != nullptr ? images.y + from : nullptr, pixels},
        work.gradients + b * pixels * kDirectLanes, bias);
  }
}

void add_strip(const DirectPlan& plan, const Images& images, const Chunk& chunk, std::int64_t index,
               const DirectWork& work) {
  const Strip strip = strip_of(plan, chunk, index);
  const std::int64_t row_step = plan.geometry.stride[0] * plan.width * plan.pixel;
  const float* const padded = work.padded + (strip.image - chunk.first) * plan.padded_floats();
  DirectWeightsPass pass{padded + strip.first_row * row_step,
                         plan.taps.data(),
                         plan.tap_count(),
                         row_step,
                         plan.geometry.stride[1] * plan.pixel,
                         images.dy + offset_of(plan, strip, 0),
                         plan.y[2] * plan.y[3] * kDirectLanes,
                         strip.blocks,
                         strip.rows,
                         plan.y[3],
                         work.weights + strip.pair * plan.pair_floats(),
                         {}};
  if (images.y != nullptr || work.bias != nullptr) {
    mask_strip(plan, images, strip, work);
    pass.gradients = work.gradients;
    pass.block_step = strip.rows * plan.y[3] * kDirectLanes;
  }
  const std::int64_t last = plan.pairs() * chunk.count * plan.strips() - 1;
  const Strip next = strip_of(plan, chunk, std::min(index + 1, last));
  for (std::int64_t i = 0; i < 4; ++i) {
    const float* const source = i < 2 ? images.dy : images.y;
    const std::int64_t b = std::min(i % 2, next.blocks - 1);
    pass.ahead[i] = source != nullptr ? source + offset_of(plan, next, b) : pass.gradients;
  }
  direct_weights_loops().weight_sums(pass);
}

// Adds to work.weights[group][pair][tap][16].
void add_chunk(const DirectPlan& plan, const Images& images, const Chunk& chunk,
               const DirectWork& work) {
  for (std::int64_t group = 0; group < plan.groups(); ++group) {
    DirectWork part = work;
    part.weights += group * plan.group_floats();
    if (group > 0) part.bias = nullptr;
    for (std::int64_t i = 0; i < chunk.count; ++i) {
      const std::int64_t plane = (chunk.first + i) * plan.groups() + group;
      pad(plan, images.x + plane * plan.plane_floats(), work.padded + i * plan.padded_floats());
    }
    const std::int64_t strips = plan.pairs() * chunk.count * plan.strips();
    for (std::int64_t i = 0; i < strips; ++i) add_strip(plan, images, chunk, i, part);
  }
}

// sums[group][pair][tap][16] to [O, C, kh, kw].
void write_weights(const DirectPlan& plan, const float* sums, Array& target, bool accumulate) {
  float* to = target.data<float>();
  for (std::int64_t o = 0; o < plan.weight[0]; ++o) {
    for (std::int64_t group = 0; group < plan.groups(); ++group) {
      const float* const from =
          sums + group * plan.group_floats() + o / 16 * plan.pair_floats() + o % 16;
      for (std::int64_t t = 0; t < plan.tap_count(); ++t) {
        float& value = to[plan.places[static_cast<std::size_t>(t)]];
        value = accumulate ? value + from[t * 16] : from[t * 16];
      }
      to += plan.tap_count();
    }
  }
}

}  // namespace

bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry) {
  if (!onednn::own_loops_are_faster() || geometry.groups != 1) return false;
  if (x[1] <= kChannelsMax) return weight[0] % kDirectLanes == 0;
  const bool steps = geometry.stride[0] > 1 || geometry.stride[1] > 1;
  return steps && weight[2] * weight[3] > 1 && x[1] % kDirectLanes == 0 &&
         weight[0] % (2 * kDirectLanes) == 0;
}

void conv2d_backward_weights(const Array& given_dy, const Conv2dSaved& saved,
                             const Conv2dWeightGradients& out) {
  const DirectPlan plan(saved);
  const Array x = plan.blocked ? in_blocks_of_8(saved.x) : saved.x.contiguous();
  const Array dy = in_blocks_of_8(given_dy);
  const Array y = saved.y.defined() ? in_blocks_of_8(saved.y) : Array();
  const Images images{static_cast<const float*>(x.raw_data()),
                      static_cast<const float*>(dy.raw_data()),
                      y.defined() ? static_cast<const float*>(y.raw_data()) : nullptr};
  const std::int64_t outputs = plan.weight[0];
  const std::int64_t weight_floats = plan.groups() * plan.group_floats();
  const std::int64_t part_floats = weight_floats + outputs;
  const std::int64_t each = (plan.x[0] + kDirectPartsMax - 1) / kDirectPartsMax;
  const std::int64_t parts = (plan.x[0] + each - 1) / each;
  Array sums = Array::zeros({parts, part_floats});
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    Array padded = Array::zeros({std::min(each, plan.images_at_once) * plan.padded_floats()});
    Array gradients = Array::empty({2 * kDirectLanes * plan.rows_at_once * plan.y[3]});
    for (std::int64_t part = begin; part < end; ++part) {
      float* const sum = sums.data<float>() + part * part_floats;
      const DirectWork work{padded.data<float>(), gradients.data<float>(), sum,
                            out.bias != nullptr ? sum + weight_floats : nullptr};
      const std::int64_t last = std::min((part + 1) * each, plan.x[0]);
      for (std::int64_t i = part * each; i < last; i += plan.images_at_once) {
        add_chunk(plan, images, {i, std::min(plan.images_at_once, last - i)}, work);
      }
    }
  });
  float* const total = sums.data<float>();
  for (std::int64_t part = 1; part < parts; ++part) {
    flat_loops().add(total + part * part_floats, total, 0, part_floats);
  }
  write_weights(plan, total, *out.weight, out.accumulate_weight);
  if (out.bias == nullptr) return;
  if (!out.accumulate_bias) out.bias->fill(0.0);
  flat_loops().add(total + weight_floats, out.bias->data<float>(), 0, outputs);
}

}  // namespace weft::direct_weights
