#include "weft/kernel/conv/winograd/winograd.h"

#include <algorithm>
#include <vector>

#include "weft/array/launch_watch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/conv/conv_onednn.h"
#include "weft/kernel/conv/winograd/winograd_filters.h"
#include "weft/kernel/conv/winograd/winograd_loops.h"
#include "weft/kernel/conv/winograd/winograd_matrices.h"
#include "weft/kernel/conv/winograd/winograd_plan.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/core/prepared_weights.h"

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

std::int64_t most_tiles(const WinogradPlan& plan, const std::vector<Group>& groups) {
  std::int64_t most = 0;
  for (const Group& group : groups) most = std::max(most, plan.tiles(group));
  return most;
}

float* raw_floats(const Array& array) { return static_cast<float*>(array.raw_data()); }

WinogradImage image_of(const Array& blocked, std::int64_t index) {
  const Shape& shape = blocked.shape();
  const std::int64_t size = shape[1] * shape[2] * shape[3];
  return {raw_floats(blocked) + index * size, shape[1] / kWinogradBlock, shape[2], shape[3]};
}

// Calls body(image, panel in [0, panels), first tile) for each image of a group, in parallel.
template <class Body>
void for_each_image(const WinogradPlan& plan, const Group& group, std::int64_t panels,
                    const Body& body) {
  parallel_for(group.images * panels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t image = i / panels;
      body(group.first_image + image, i % panels, image * group.rows * plan.across);
    }
  });
}

void transform_inputs(const WinogradPlan& plan, const Group& group, const Array& x,
                      std::int64_t first_panel, std::int64_t panels, const Matrices& out) {
  for_each_image(plan, group, panels,
                 [&](std::int64_t image, std::int64_t panel, std::int64_t tile) {
                   winograd_transforms().input(image_of(x, image), first_panel + panel,
                                               plan.tiles_of(group), out.panel(panel, tile));
                 });
}

// Panels [first, first + panels) of the transformed filters; rows behind the last are zeros.
void transform_weights(const FilterOrder& order, std::int64_t first, std::int64_t panels,
                       const Matrices& out) {
  const std::int64_t blocks = up(order.rows, kPanel);
  parallel_for(panels * blocks, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t panel = i / blocks;
      const std::int64_t row = i % blocks * kPanel;
      FilterBlock block(order, (first + panel) * kPanel, row);
      block.read();
      for (std::int64_t r = 0; r < kPanel; ++r) {
        WinogradFilters filters{nullptr, 0, 0};
        if (r < block.rows()) filters = block.row(r);
        winograd_transforms().weights(filters, out.panel(panel, row + r));
      }
    }
  });
}

// out = in times weights at every position, for `panels` panels of results.
void multiply(const Matrices& in, std::int64_t in_panels, const Matrices& weights,
              std::int64_t panels, std::int64_t tiles, const Matrices& out) {
  const WinogradProducts& loops = winograd_products();
  const std::int64_t depth = in_panels * kPanel;
  const std::int64_t each = up(panels, loops.panels);
  parallel_for(kWinogradPositions * each, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t position = i / each;
      const std::int64_t panel = i % each * loops.panels;
      for (std::int64_t k = 0; k < depth; k += kDepth) {
        loops.multiply(
            {in.at(position, k / kPanel), in.panel_step(), weights.at(position, panel, k),
             weights.panel_step(), out.at(position, panel), out.panel_step(),
             std::min(loops.panels, panels - panel), tiles, std::min(kDepth, depth - k), k > 0});
      }
    }
  });
}

// What a backward works on.
struct Backward {
  const WinogradPlan& plan;
  const Array& x;    // blocked; undefined if no weight gradient is wanted
  const Array& dy;   // blocked
  const Array& y;    // blocked; undefined without the activation
  float* bias_sums;  // [image][out panel][16], zeros at first
  Array& dx;         // blocked; undefined unless wanted
};

void transform_gradients(const Backward& work, const Group& group, bool with_sums,
                         const Matrices& out) {
  const std::int64_t panels = work.plan.out_panels;
  for_each_image(
      work.plan, group, panels, [&](std::int64_t image, std::int64_t panel, std::int64_t tile) {
        const float* const y = work.y.defined() ? image_of(work.y, image).data : nullptr;
        float* const sums =
            with_sums ? work.bias_sums + (image * panels + panel) * kPanel : nullptr;
        winograd_transforms().output_gradient({image_of(work.dy, image), y, sums}, panel,
                                              work.plan.tiles_of(group), out.panel(panel, tile));
      });
}

// The first `panels` panels of matrices that are multiplied.
struct Factor {
  const Matrices& matrices;
  std::int64_t panels;
};

// sums[p][input panel of the chunk * out_panels + out panel][input][output] (+)= the products.
void multiply_transposed(const Factor& in, const Factor& gradients, std::int64_t tiles,
                         bool accumulate, const Matrices& sums) {
  const WinogradProducts& loops = winograd_products();
  parallel_for(kWinogradPositions * in.panels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t position = i / in.panels;
      const std::int64_t panel = i % in.panels;
      for (std::int64_t o = 0; o < gradients.panels; o += loops.panels) {
        loops.multiply_transposed(
            {in.matrices.at(position, panel), 0, gradients.matrices.at(position, o),
             gradients.matrices.panel_step(), sums.at(position, panel * gradients.panels + o),
             sums.panel_step(), std::min(loops.panels, gradients.panels - o), tiles, 0,
             accumulate});
      }
    }
  });
}

// The gradients of the filters of inputs [first, first + panels) (in panels).
void gather_weights(const WinogradPlan& plan, const Matrices& sums, std::int64_t first,
                    std::int64_t panels, const FilterOrder& order, bool accumulate) {
  parallel_for(panels * plan.out_panels, 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t out = i % plan.out_panels;
      const std::int64_t input = (first + i / plan.out_panels) * kPanel;
      FilterBlock block(order, out * kPanel, input);
      for (std::int64_t r = 0; r < block.rows(); ++r) {
        winograd_transforms().weights_gradient(sums.panel(i, r), block.row(r),
                                               accumulate && !block.copied());
      }
      block.write(accumulate);
    }
  });
}

FilterOrder filters_by_output(const Array& weight) {
  const std::int64_t inputs = weight.dim(1);
  return {raw_floats(weight), inputs * 9, 9, weight.dim(0), inputs};
}
FilterOrder filters_by_input(const Array& weight) {
  const std::int64_t inputs = weight.dim(1);
  return {raw_floats(weight), 9, inputs * 9, inputs, weight.dim(0)};
}

// The transformed filters of a forward pass, one for each chunk of panels.
using ForwardFilters = std::vector<Matrices>;

std::shared_ptr<const ForwardFilters> forward_filters(const WinogradPlan& plan, const Array& weight,
                                                      const Chunks& chunks) {
  if (plan.x[0] * plan.down * plan.across > kTilesKept) return nullptr;
  return PreparedWeights::get<ForwardFilters>(weight, WeightForm::kWinogradFilters, [&] {
    auto filters = std::make_shared<ForwardFilters>();
    for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
      filters->push_back(matrices(chunks.size, plan.in_panels * kPanel));
      const std::int64_t panels = chunks.size_of(chunk);
      if (panels <= 0) break;
      transform_weights(filters_by_output(weight), chunks.first(chunk), panels, filters->back());
    }
    return filters;
  });
}

void backward_chunks(const Backward& work, const Array& weight, const Conv2dWeightGradients& out) {
  const WinogradPlan& plan = work.plan;
  const bool wants_weight = work.x.defined();
  const bool wants_data = work.dx.defined();
  const Chunks chunks(plan.in_panels, panel_bytes(plan.out_panels));
  const std::vector<Group> groups = plan.groups(chunks);
  const std::int64_t most = most_tiles(plan, groups);
  Matrices gradients = matrices(plan.out_panels, most);
  Matrices tiles = matrices(chunks.size, most);
  const Matrices weights = matrices(wants_data ? chunks.size : 0, plan.out_panels * kPanel);
  const Matrices sums = matrices(wants_weight ? chunks.size * plan.out_panels : 0, kPanel);
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
      gradients.use_rows(count);
      tiles.use_rows(count);
      if (chunk == 0 || groups.size() > 1) {
        // Both gradients read these.
        const LaunchPart part("conv2d_gradient_tiles");
        transform_gradients(work, group, chunk == 0, gradients);
      }
      const double flops = plan.gradient_flops() * static_cast<double>(panels * count);
      if (wants_weight) {
        const LaunchPart part("conv2d_weight_gradient");
        launch_flops(flops);
        transform_inputs(plan, group, work.x, first, panels, tiles);
        multiply_transposed({tiles, panels}, {gradients, plan.out_panels}, count, i > 0, sums);
      }
      if (!wants_data) continue;
      const LaunchPart part("conv2d_data_gradient");
      launch_flops(flops);
      multiply(gradients, plan.out_panels, weights, panels, count, tiles);
      for_each_image(
          plan, group, panels, [&](std::int64_t image, std::int64_t panel, std::int64_t tile) {
            winograd_transforms().input_gradient(tiles.panel(panel, tile), plan.tiles_of(group),
                                                 image_of(work.dx, image), first + panel);
          });
    }
    if (wants_weight) {
      const LaunchPart part("conv2d_weight_gradient");
      gather_weights(plan, sums, first, panels, filters_by_output(*out.weight),
                     out.accumulate_weight);
    }
  }
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
  const Array weight = given_weight.contiguous();
  const Floats padded_bias(plan.out_panels * kPanel);
  std::fill_n(padded_bias.data(), plan.out_panels * kPanel, 0.0F);
  if (bias.defined()) {
    const Array dense = bias.contiguous();
    std::copy_n(dense.data<float>(), plan.outputs, padded_bias.data());
  }
  const Chunks chunks(plan.out_panels, panel_bytes(plan.in_panels));
  const std::vector<Group> groups = plan.groups(chunks);
  const std::int64_t most = most_tiles(plan, groups);
  Matrices tiles = matrices(plan.in_panels, most);
  Matrices results = matrices(chunks.size, most);
  const auto kept = forward_filters(plan, weight, chunks);
  const Matrices made = matrices(kept != nullptr ? 0 : chunks.size, plan.in_panels * kPanel);
  for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
    const std::int64_t first = chunks.first(chunk);
    const std::int64_t panels = chunks.size_of(chunk);
    if (panels <= 0) break;
    if (kept == nullptr) transform_weights(filters_by_output(weight), first, panels, made);
    const Matrices& weights = kept != nullptr ? (*kept)[static_cast<std::size_t>(chunk)] : made;
    for (const Group& group : groups) {
      const std::int64_t count = plan.tiles(group);
      tiles.use_rows(count);
      results.use_rows(count);
      if (chunk == 0 || groups.size() > 1) {
        transform_inputs(plan, group, x, 0, plan.in_panels, tiles);
      }
      multiply(tiles, plan.in_panels, weights, panels, count, results);
      for_each_image(
          plan, group, panels, [&](std::int64_t image, std::int64_t panel, std::int64_t tile) {
            winograd_transforms().output(results.panel(panel, tile), plan.tiles_of(group),
                                         {padded_bias.data() + (first + panel) * kPanel, relu},
                                         image_of(y, image), first + panel);
          });
    }
  }
}

void conv2d_backward(const Array& given_dy, const Conv2dSaved& saved,
                     const Conv2dWeightGradients& out, Array& dx) {
  const WinogradPlan plan(saved.x.shape(), saved.weight.shape(), saved.geometry);
  const Array x = out.weight != nullptr ? in_blocks_of_8(saved.x) : Array();
  const Array dy = in_blocks_of_8(given_dy);
  const Array y = saved.y.defined() ? in_blocks_of_8(saved.y) : Array();
  const std::int64_t channels = plan.out_panels * kPanel;
  const Floats bias_sums(plan.x[0] * channels);
  std::fill_n(bias_sums.data(), plan.x[0] * channels, 0.0F);
  backward_chunks({plan, x, dy, y, bias_sums.data(), dx}, saved.weight.contiguous(), out);
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
