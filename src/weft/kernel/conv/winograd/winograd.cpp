#include "weft/kernel/conv/winograd/winograd.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "weft/array/launch_watch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/conv/conv_onednn.h"
#include "weft/kernel/conv/winograd/winograd_steps.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/core/prepared_weights.h"
#include "weft/kernel/elementwise/convert.h"

namespace weft::winograd {
namespace {

// Images smaller than this waste most of a tile.
constexpr std::int64_t kOutputMin = 3;
// A batch of fewer tiles reads the transformed filters, which are four times as large as the plain
// ones, for too little work: oneDNN is faster.
constexpr std::int64_t kTilesMin = 4;
// Up to this many tiles transforming the filters takes a large part of the time, so that it is
// worth four times their memory to keep the result.
constexpr std::int64_t kTilesKept = 128;
// With fewer channels the transforms, which are sums of floats, take most of the time, and bf16
// would only be less exact.
constexpr std::int64_t kPairedChannels = 32;

// The transformed filters of a forward pass, one for each chunk of panels.
using ForwardFilters = std::vector<Matrices<float>>;

std::shared_ptr<const ForwardFilters> forward_filters(const WinogradPlan& plan, const Array& weight,
                                                      const Chunks& chunks) {
  if (plan.x[0] * plan.down * plan.across > kTilesKept) return nullptr;
  return PreparedWeights::get<ForwardFilters>(weight, WeightForm::kWinogradFilters, [&] {
    auto filters = std::make_shared<ForwardFilters>();
    for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
      filters->emplace_back(chunks.size, plan.in_panels * kPanel);
      const std::int64_t panels = chunks.size_of(chunk);
      if (panels <= 0) break;
      transform_weights(filters_by_output(weight), chunks.first(chunk), panels, filters->back());
    }
    return filters;
  });
}

// Memory for the results of products: that of `tiles` where they have the same type.
Matrices<float> results_beside(const Matrices<float>& tiles, std::int64_t, std::int64_t) {
  return tiles;
}
Matrices<float> results_beside(const Matrices<WinogradHalf>& /*tiles*/, std::int64_t panels,
                               std::int64_t rows) {
  return {panels, rows};
}

template <class Image>
void write_input_gradients(const Backward& work, const Group& group, std::int64_t first,
                           std::int64_t panels, const Matrices<float>& results) {
  const WinogradPlan& plan = work.plan;
  const WinogradTiles tiles = plan.tiles_of(group);
  const bool rounded = sizeof(Image) < sizeof(float);
  for_each_image(plan, group, panels,
                 [&](std::int64_t image, std::int64_t panel, std::int64_t tile) {
                   const Values<float> strip(rounded ? winograd_strip_floats(tiles, plan.x[3]) : 0);
                   transforms<Image, float>().input_gradient(results.panel(panel, tile), tiles,
                                                             image_of<Image>(work.dx, image),
                                                             first + panel, strip.data());
                 });
}

template <class Image, class T>
void backward_chunks(const Backward& work, const Array& weight, const Conv2dWeightGradients& out) {
  const WinogradPlan& plan = work.plan;
  const bool wants_weight = work.x.defined();
  const bool wants_data = work.dx.defined();
  const Chunks chunks(plan.in_panels, panel_bytes<T>(plan.out_panels));
  const std::vector<Group> groups = plan.groups(chunks);
  const std::int64_t most = rows_of<T>(most_tiles(plan, groups));
  Matrices<T> gradients(plan.out_panels, most);
  Matrices<T> tiles(chunks.size, most);
  Matrices<float> results = results_beside(tiles, wants_data ? chunks.size : 0, most);
  const Matrices<T> weights(wants_data ? chunks.size : 0, plan.out_panels * kPanel);
  const Matrices<float> sums(wants_weight ? chunks.size * plan.out_panels : 0, kPanel);
  for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
    const std::int64_t first = chunks.first(chunk);
    const std::int64_t panels = chunks.size_of(chunk);
    if (panels <= 0) break;
    if (wants_data) {
      const LaunchPart part("conv2d_data_gradient");
      transform_weights(filters_by_input(weight), first, panels, weights);
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Group& group = groups[i];
      const std::int64_t count = plan.tiles(group);
      const std::int64_t rows = rows_of<T>(count);
      gradients.use_rows(rows);
      tiles.use_rows(rows);
      results.use_rows(rows);
      if (chunk == 0 || groups.size() > 1) {
        // Both gradients read these.
        const LaunchPart part("conv2d_gradient_tiles");
        transform_gradients<Image>(work, group, chunk == 0, gradients);
        clear_row(gradients, plan.out_panels, count);
      }
      const double flops = plan.gradient_flops() * static_cast<double>(panels * count);
      if (wants_weight) {
        const LaunchPart part("conv2d_weight_gradient");
        launch_flops(flops);
        transform_inputs<Image>(plan, group, work.x, first, panels, tiles);
        clear_row(tiles, panels, count);
        multiply_transposed<T>({tiles, panels}, {gradients, plan.out_panels}, rows, i > 0, sums);
      }
      if (!wants_data) continue;
      const LaunchPart part("conv2d_data_gradient");
      launch_flops(flops);
      multiply(gradients, plan.out_panels, weights, panels, count, results);
      write_input_gradients<Image>(work, group, first, panels, results);
    }
    if (wants_weight) {
      const LaunchPart part("conv2d_weight_gradient");
      gather_weights(plan, sums, first, panels, filters_by_output(*out.weight),
                     out.accumulate_weight);
    }
  }
}

struct Forward {
  const WinogradPlan& plan;
  const Array& x;       // blocked
  const Array& weight;  // contiguous, f32
  const float* bias;    // [out panel][16]
  bool relu;
  const Array& y;  // blocked
};

// What one thread, or all of them, work with on a group of at most `most` tiles.
template <class T>
struct ForwardSpace {
  ForwardSpace(const WinogradPlan& plan, const Chunks& chunks, std::int64_t most)
      : tiles(plan.in_panels, most), results(chunks.size, most) {}

  Matrices<T> tiles;
  Matrices<float> results;
};

// Some panels of filters.
template <class T>
struct ForwardPanels {
  const Matrices<T>& weights;
  std::int64_t first;
  std::int64_t count;
};

// `with_tiles`: the space does not have the group's tiles yet.
template <class Image, class T>
void forward_group(const Forward& work, const Group& group, const ForwardPanels<T>& panels,
                   bool with_tiles, ForwardSpace<T>& space) {
  const WinogradPlan& plan = work.plan;
  const std::int64_t count = plan.tiles(group);
  space.tiles.use_rows(count);
  space.results.use_rows(count);
  if (with_tiles) transform_inputs<Image>(plan, group, work.x, 0, plan.in_panels, space.tiles);
  multiply(space.tiles, plan.in_panels, panels.weights, panels.count, count, space.results);
  for_each_image(
      plan, group, panels.count, [&](std::int64_t image, std::int64_t panel, std::int64_t tile) {
        const std::int64_t into = panels.first + panel;
        transforms<Image, float>().output(space.results.panel(panel, tile), plan.tiles_of(group),
                                          {work.bias + into * kPanel, work.relu},
                                          image_of<Image>(work.y, image), into);
      });
}

template <class Image, class T>
void forward_chunks(const Forward& work) {
  const WinogradPlan& plan = work.plan;
  const Chunks chunks(plan.out_panels, panel_bytes<T>(plan.in_panels));
  const Shares shares = plan.shares(chunks, thread_count());
  const std::int64_t most = most_tiles(plan, shares.groups);
  std::optional<ForwardSpace<T>> common;
  if (shares.count == 1) common.emplace(plan, chunks, most);
  std::shared_ptr<const ForwardFilters> kept;
  if constexpr (std::is_same_v<T, float>) kept = forward_filters(plan, work.weight, chunks);
  const Matrices<T> made(kept != nullptr ? 0 : chunks.size, plan.in_panels * kPanel);
  for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
    const std::int64_t first = chunks.first(chunk);
    const std::int64_t panels = chunks.size_of(chunk);
    if (panels <= 0) break;
    const Matrices<T>* weights = &made;
    if constexpr (std::is_same_v<T, float>) {
      if (kept != nullptr) weights = &(*kept)[static_cast<std::size_t>(chunk)];
    }
    if (weights == &made) transform_weights(filters_by_output(work.weight), first, panels, made);
    const bool with_tiles = chunk == 0 || shares.groups.size() > 1;
    const auto run = [&](std::int64_t first_share, std::int64_t end, ForwardSpace<T>& space) {
      for (std::int64_t g = shares.first(first_share); g < shares.first(end); ++g) {
        forward_group<Image, T>(work, shares.groups[static_cast<std::size_t>(g)],
                                {*weights, first, panels}, with_tiles, space);
      }
    };
    if (common) {
      run(0, 1, *common);
    } else {
      // Memory that a thread takes itself was its own in the last pass, too.
      parallel_for(shares.count, 1, [&](std::int64_t begin, std::int64_t end) {
        ForwardSpace<T> own(plan, chunks, most);
        run(begin, end, own);
      });
    }
  }
}

// Calls body(image, value) with a value of the type of images and one of what is multiplied.
template <class Body>
void with_types(DType dtype, const WinogradPlan& plan, Body body) {
  if (dtype != DType::kBF16) return body(float{}, float{});
  if (winograd_pairs().preferred && std::min(plan.inputs, plan.outputs) >= kPairedChannels) {
    return body(WinogradHalf{}, WinogradHalf{});
  }
  body(WinogradHalf{}, float{});
}

}  // namespace

bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry) {
  const Conv2dGeometry plain{.padding = geometry.padding};
  if (!onednn::own_loops_are_faster() || !(geometry == plain) || weight[2] != 3 || weight[3] != 3 ||
      weight[0] % kWinogradBlock != 0 || weight[1] % kWinogradBlock != 0 || x[1] != weight[1]) {
    return false;
  }
  const Shape y = conv2d_shape(x, weight, geometry);
  const std::int64_t tiles = x[0] * up(y[2], kWinogradTile) * up(y[3], kWinogradTile);
  return y[2] >= kOutputMin && y[3] >= kOutputMin && tiles >= kTilesMin;
}

void conv2d_forward(const Array& given, const Array& given_weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y) {
  const WinogradPlan plan(given.shape(), given_weight.shape(), geometry);
  const Array x = in_blocks_of_8(given);
  const Array weight = convert(given_weight.contiguous(), DType::kF32);
  const Values<float> padded_bias(plan.out_panels * kPanel);
  std::fill_n(padded_bias.data(), plan.out_panels * kPanel, 0.0F);
  if (bias.defined()) {
    const Array dense = convert(bias.contiguous(), DType::kF32);
    std::copy_n(dense.data<float>(), plan.outputs, padded_bias.data());
  }
  const Forward work{plan, x, weight, padded_bias.data(), relu, y};
  with_types(x.dtype(), plan, [&](auto image, auto value) {
    forward_chunks<decltype(image), decltype(value)>(work);
  });
}

void conv2d_backward(const Array& given_dy, const Conv2dSaved& saved,
                     const Conv2dWeightGradients& out, Array& dx) {
  const WinogradPlan plan(saved.x.shape(), saved.weight.shape(), saved.geometry);
  const Array x = out.weight != nullptr ? in_blocks_of_8(saved.x) : Array();
  const Array dy = in_blocks_of_8(given_dy);
  const Array y = saved.y.defined() ? in_blocks_of_8(saved.y) : Array();
  const Array weight = convert(saved.weight.contiguous(), DType::kF32);
  const std::int64_t channels = plan.out_panels * kPanel;
  const Values<float> bias_sums(plan.x[0] * channels);
  std::fill_n(bias_sums.data(), plan.x[0] * channels, 0.0F);
  const Backward work{plan, x, dy, y, bias_sums.data(), dx};
  with_types(dy.dtype(), plan, [&](auto image, auto value) {
    backward_chunks<decltype(image), decltype(value)>(work, weight, out);
  });
  if (out.bias == nullptr) return;
  for (std::int64_t o = 0; o < plan.outputs; ++o) {
    double sum = out.accumulate_bias ? double{out.bias->data<float>()[o]} : 0.0;
    for (std::int64_t image = 0; image < plan.x[0]; ++image) {
      sum += double{bias_sums.data()[image * channels + o]};
    }
    out.bias->data<float>()[o] = static_cast<float>(sum);
  }
}

}  // namespace weft::winograd
