// The steps of a convolution by minimal filtering over a group of tiles, in parallel, for images of
// float or bf16 and products of T: float, or bf16 where winograd_pairs() are preferred. For
// winograd.cpp.
// Threads: the calling thread and the compute threads. Fails: never.
#pragma once

#include <algorithm>
#include <vector>

#include "weft/base/parallel.h"
#include "weft/kernel/conv/winograd/winograd_filters.h"
#include "weft/kernel/conv/winograd/winograd_loops.h"
#include "weft/kernel/conv/winograd/winograd_matrices.h"
#include "weft/kernel/conv/winograd/winograd_pairs_loops.h"
#include "weft/kernel/conv/winograd/winograd_plan.h"

namespace weft::winograd {

inline std::int64_t most_tiles(const WinogradPlan& plan, const std::vector<Group>& groups) {
  std::int64_t most = 0;
  for (const Group& group : groups) most = std::max(most, plan.tiles(group));
  return most;
}

// The loops for images of Image and products of T.
template <class Image, class T>
const WinogradTransforms<Image, T>& transforms();
template <>
inline const WinogradTransforms<float, float>& transforms() {
  return winograd_images().of_floats;
}
template <>
inline const WinogradTransforms<WinogradHalf, float>& transforms() {
  return winograd_images().of_bf16;
}
template <>
inline const WinogradTransforms<WinogradHalf, WinogradHalf>& transforms() {
  return winograd_pairs().transforms;
}
template <class T>
const WinogradProducts<T>& products();
template <>
inline const WinogradProducts<float>& products() {
  return winograd_products();
}
template <>
inline const WinogradProducts<WinogradHalf>& products() {
  return winograd_pairs().products;
}

template <class T>
WinogradImage<T> image_of(const Array& blocked, std::int64_t index) {
  const Shape& shape = blocked.shape();
  const std::int64_t size = shape[1] * shape[2] * shape[3];
  return {static_cast<T*>(blocked.raw_data()) + index * size, shape[1] / kWinogradBlock, shape[2],
          shape[3]};
}

// Rows of matrices of so many tiles: transposed products take two tiles of T != float at once.
template <class T>
std::int64_t rows_of(std::int64_t tiles) {
  constexpr std::int64_t kStep = sizeof(T) == sizeof(float) ? 1 : 2;
  return up(tiles, kStep) * kStep;
}
// The row behind the last tile counts as a tile of zeros.
template <class T>
void clear_row(const Matrices<T>& matrices, std::int64_t panels, std::int64_t tiles) {
  if (rows_of<T>(tiles) == tiles) return;
  for (std::int64_t position = 0; position < kWinogradPositions; ++position) {
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      std::fill_n(matrices.at(position, panel, tiles), kPanel, T{});
    }
  }
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

template <class Image, class T>
void transform_inputs(const WinogradPlan& plan, const Group& group, const Array& x,
                      std::int64_t first_panel, std::int64_t panels, const Matrices<T>& out) {
  for_each_image(plan, group, panels,
                 [&](std::int64_t image, std::int64_t panel, std::int64_t tile) {
                   transforms<Image, T>().input(image_of<Image>(x, image), first_panel + panel,
                                                plan.tiles_of(group), out.panel(panel, tile));
                 });
}

// Panels [first, first + panels) of the transformed filters; rows behind the last are zeros.
template <class T>
void transform_weights(const FilterOrder& order, std::int64_t first, std::int64_t panels,
                       const Matrices<T>& out) {
  const std::int64_t blocks = up(order.rows, kPanel);
  parallel_for(panels * blocks, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t panel = i / blocks;
      const std::int64_t row = i % blocks * kPanel;
      FilterBlock block(order, (first + panel) * kPanel, row);
      block.read();
      const auto filters = [&](std::int64_t r) {
        return r < block.rows() ? block.row(r) : WinogradFilters{nullptr, 0, 0};
      };
      for (std::int64_t r = 0; r < kPanel; r += 2) {
        transforms<T, T>().weights(filters(r), filters(r + 1), out.panel(panel, row + r));
      }
    }
  });
}

// out = in times weights at every position, for `panels` panels of results.
template <class T>
void multiply(const Matrices<T>& in, std::int64_t in_panels, const Matrices<T>& weights,
              std::int64_t panels, std::int64_t tiles, const Matrices<float>& out) {
  const WinogradProducts<T>& loops = products<T>();
  const std::int64_t depth = in_panels * kPanel;
  const std::int64_t each = up(panels, loops.panels);
  const auto weights_at = [&](std::int64_t i, std::int64_t k) {
    return weights.at(i / each, i % each * loops.panels, k);
  };
  parallel_for(kWinogradPositions * each, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t position = i / each;
      const std::int64_t panel = i % each * loops.panels;
      const T* const after = i + 1 < end ? weights_at(i + 1, 0) : nullptr;
      for (std::int64_t k = 0; k < depth; k += kDepth<T>) {
        const std::int64_t k_end = std::min(k + kDepth<T>, depth);
        loops.multiply({in.at(position, k / kPanel), in.panel_step(), weights_at(i, k),
                        weights.panel_step(), out.at(position, panel), out.panel_step(),
                        std::min(loops.panels, panels - panel), tiles, k_end - k, k > 0,
                        k_end < depth ? weights_at(i, k_end) : after});
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

template <class Image, class T>
void transform_gradients(const Backward& work, const Group& group, bool with_sums,
                         const Matrices<T>& out) {
  const std::int64_t panels = work.plan.out_panels;
  for_each_image(
      work.plan, group, panels, [&](std::int64_t image, std::int64_t panel, std::int64_t tile) {
        const Image* const y = work.y.defined() ? image_of<Image>(work.y, image).data : nullptr;
        float* const sums =
            with_sums ? work.bias_sums + (image * panels + panel) * kPanel : nullptr;
        transforms<Image, T>().output_gradient({image_of<Image>(work.dy, image), y, sums}, panel,
                                               work.plan.tiles_of(group), out.panel(panel, tile));
      });
}

// The first `panels` panels of matrices that are multiplied.
template <class T>
struct Factor {
  const Matrices<T>& matrices;
  std::int64_t panels;
};

// sums[p][input panel of the chunk * out_panels + out panel][input][output] (+)= the products of so
// many rows. The rows of `in` are paired in place.
template <class T>
void multiply_transposed(const Factor<T>& in, const Factor<T>& gradients, std::int64_t rows,
                         bool accumulate, const Matrices<float>& sums) {
  const WinogradProducts<T>& loops = products<T>();
  parallel_for(kWinogradPositions * in.panels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t position = i / in.panels;
      const std::int64_t panel = i % in.panels;
      if (loops.pair_tiles != nullptr) loops.pair_tiles(in.matrices.at(position, panel), rows);
      for (std::int64_t o = 0; o < gradients.panels; o += loops.panels) {
        const std::int64_t after = o + loops.panels;
        loops.multiply_transposed(
            {in.matrices.at(position, panel), 0, gradients.matrices.at(position, o),
             gradients.matrices.panel_step(), sums.at(position, panel * gradients.panels + o),
             sums.panel_step(), std::min(loops.panels, gradients.panels - o), rows, 0, accumulate,
             gradients.matrices.at(position, after < gradients.panels ? after : 0)});
      }
    }
  });
}

// The gradients of the filters of inputs [first, first + panels) (in panels).
inline void gather_weights(const WinogradPlan& plan, const Matrices<float>& sums,
                           std::int64_t first, std::int64_t panels, const FilterOrder& order,
                           bool accumulate) {
  parallel_for(panels * plan.out_panels, 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t out = i % plan.out_panels;
      const std::int64_t input = (first + i / plan.out_panels) * kPanel;
      FilterBlock block(order, out * kPanel, input);
      for (std::int64_t r = 0; r < block.rows(); ++r) {
        winograd_images().of_floats.weights_gradient(sums.panel(i, r), block.row(r),
                                                     accumulate && !block.copied());
      }
      block.write(accumulate);
    }
  });
}

inline FilterOrder filters_by_output(const Array& weight) {
  const std::int64_t inputs = weight.dim(1);
  return {static_cast<float*>(weight.raw_data()), inputs * 9, 9, weight.dim(0), inputs};
}
inline FilterOrder filters_by_input(const Array& weight) {
  const std::int64_t inputs = weight.dim(1);
  return {static_cast<float*>(weight.raw_data()), 9, inputs * 9, inputs, weight.dim(0)};
}

}  // namespace weft::winograd
