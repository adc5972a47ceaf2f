// The gradient of filters: [value of a window, filter] = windows^T dy, summed over all results.
#include <algorithm>
#include <memory>

#include "weft/base/parallel.h"
#include "weft/kernel/conv/windows/window_conv.h"
#include "weft/kernel/conv/windows/window_products.h"
#include "weft/kernel/conv/windows/windows.h"
#include "weft/kernel/core/flat_loops.h"
#include "weft/kernel/core/onednn.h"

namespace weft::windows {
namespace {

// Results that are summed apart.
constexpr std::int64_t kPixelsAtOnce = 384;
// Values of a window that are rows of a product at once.
constexpr std::int64_t kGroupsAtOnce = gemm_blocks::kRowsAtOnce / kLanes;
// Bytes of the panels of dy, which all threads share.
constexpr std::int64_t kPanelBytes = 3 << 19;
// Parts of the work for each of several threads; of at least so many columns.
constexpr std::int64_t kPartsOfThread = 4;
constexpr std::int64_t kColumnsMin = 64;

template <class Products, class T>
struct WeightGradient {
  using Value = typename Products::Value;
  using Element = typename Products::Element;

  std::int64_t results() const { return x.images * grid.results(); }
  std::int64_t parts() const { return (results() + kPixelsAtOnce - 1) / kPixelsAtOnce; }
  std::int64_t groups() const { return x.blocks * static_cast<std::int64_t>(grid.taps.size()); }
  std::int64_t filters() const { return dy.blocks * kLanes; }
  std::int64_t padded() const { return gemm_blocks::padded_columns(filters()); }
  // Elements of the panels of one part of the results.
  std::int64_t panel_elements() const { return padded() * Products::elements(kPixelsAtOnce); }

  BlockedImages<const T> x;
  WindowGrid grid;
  BlockedImages<const T> dy;
  float* sums;    // [value of a window][padded()]
  float* biases;  // [part of the results][filters()], or null
};

// Part `part` of the results.
Range part_of(std::int64_t results, std::int64_t part) {
  const std::int64_t first = part * kPixelsAtOnce;
  return {first, std::min(kPixelsAtOnce, results - first)};
}

// dy as a matrix of its own: each result is one pixel.
template <class T>
WindowGrid pixels_of(const BlockedImages<T>& images) {
  return {images.height, images.width, 1, {Pair(0)}};
}

// dy of some results as panels, by way of rows.
template <class Products, class T>
void pack_gradients(const BlockedImages<const T>& dy, const Range& results,
                    typename Products::Value* rows, typename Products::Element* panels) {
  const std::int64_t n = dy.blocks * kLanes;
  gather(dy, pixels_of(dy), results, {0, dy.blocks}, GroupRows<typename Products::Value>{rows, n});
  Products::pack({rows, n, 1}, results.count, n, panels);
}

// In f32 a row of a panel is two blocks of channels.
template <>
void pack_gradients<FloatProducts, float>(const BlockedImages<const float>& dy,
                                          const Range& results, float*, float* panels) {
  for (std::int64_t block = 0; block < dy.blocks; ++block) {
    float* to = panels + block / 2 * kGemmPanel * results.count + block % 2 * kLanes;
    for_each_run(1, dy.height * dy.width, results, results.count, [&](const Run& run) {
      const float* from = dy.at(run.image, block, run.column);
      for (std::int64_t i = 0; i < run.count; ++i) {
        copy_group(from, to);
        from += kLanes;
        to += kGemmPanel;
      }
    });
  }
  if (dy.blocks % 2 == 0) return;
  // The columns behind the last one are read, but belong to no result.
  float* const last = panels + dy.blocks / 2 * kGemmPanel * results.count + kLanes;
  for (std::int64_t i = 0; i < results.count; ++i) {
    std::fill_n(last + i * kGemmPanel, kLanes, 0.0F);
  }
}

// The sums of dy over some results, for the bias.
template <class T>
void sum_gradients(const BlockedImages<const T>& dy, const Range& results, float* sums) {
  std::fill_n(sums, dy.blocks * kLanes, 0.0F);
  for (std::int64_t block = 0; block < dy.blocks; ++block) {
    float* const sum = sums + block * kLanes;
    for_each_run(1, dy.height * dy.width, results, results.count, [&](const Run& run) {
      const T* from = dy.at(run.image, block, run.column);
      for (std::int64_t i = 0; i < run.count; ++i, from += kLanes) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) sum[lane] += in_f32(from[lane]);
      }
    });
  }
}

// A part of the sums: groups of windows, and columns of filters.
struct Block {
  Range groups;
  Range columns;
};

// Adds the products of some results, windows gathered in `rows`.
template <class Products, class T>
void add_block(const WeightGradient<Products, T>& g, const Range& results, const Block& block,
               const typename Products::Element* panels, typename Products::Value* rows,
               typename Products::Element* packed) {
  using Value = typename Products::Value;
  const std::int64_t values = block.groups.count * kLanes;
  const auto* const first = panels + block.columns.first * Products::elements(results.count);
  const GemmOutput out{g.sums + block.groups.first * kLanes * g.padded() + block.columns.first,
                       g.padded(), results.first > 0};
  gather(g.x, g.grid, results, block.groups, GroupRows<Value>{rows, values});
  Products::multiply_columns({values, block.columns.count, results.count}, {rows, 1, values},
                             packed, first, out);
}

// How the sums are cut into parts: enough for the threads, but windows are gathered once for each
// part across. No sum is split, so the cut changes no bits.
struct Cut {
  Cut(std::int64_t all_groups, std::int64_t all_columns)
      : groups(all_groups),
        columns(all_columns),
        rows((all_groups + kGroupsAtOnce - 1) / kGroupsAtOnce) {
    const std::int64_t wanted = thread_count() == 1 ? 1 : kPartsOfThread * thread_count();
    const std::int64_t most = std::max<std::int64_t>(1, columns / kColumnsMin);
    across = std::clamp<std::int64_t>((wanted + rows - 1) / rows, 1, most);
    columns_each = (columns + across - 1) / across;
    columns_each = (columns_each + 2 * kGemmPanel - 1) / (2 * kGemmPanel) * 2 * kGemmPanel;
    across = (columns + columns_each - 1) / columns_each;
  }
  std::int64_t blocks() const { return rows * across; }
  Block block(std::int64_t i) const {
    const std::int64_t row = i / across;
    const std::int64_t group = row * groups / rows;
    const std::int64_t column = i % across * columns_each;
    return {{group, (row + 1) * groups / rows - group},
            {column, std::min(columns_each, columns - column)}};
  }

  std::int64_t groups;
  std::int64_t columns;
  std::int64_t rows;
  std::int64_t across = 1;
  std::int64_t columns_each = 0;
};

template <class Products, class T>
void sum_all(const WeightGradient<Products, T>& g) {
  using Value = typename Products::Value;
  using Element = typename Products::Element;
  const std::int64_t parts = g.parts();
  const std::int64_t part_bytes = g.panel_elements() * std::int64_t{sizeof(Element)};
  const std::int64_t at_once = std::clamp<std::int64_t>(kPanelBytes / part_bytes, 1, parts);
  const auto shared = Storage::allocate(static_cast<std::size_t>(at_once * part_bytes));
  auto* const panels = static_cast<Element*>(shared->data());
  const Cut cut(g.groups(), g.filters());
  for (std::int64_t first = 0; first < parts; first += at_once) {
    const std::int64_t count = std::min(at_once, parts - first);
    parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
      const auto memory =
          Storage::allocate(static_cast<std::size_t>(kPixelsAtOnce * g.filters()) * sizeof(Value));
      for (std::int64_t i = begin; i < end; ++i) {
        const Range results = part_of(g.results(), first + i);
        pack_gradients<Products, T>(g.dy, results, static_cast<Value*>(memory->data()),
                                    panels + i * g.panel_elements());
        if (g.biases == nullptr) continue;
        sum_gradients(g.dy, results, g.biases + (first + i) * g.filters());
      }
    });
    parallel_for(cut.blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t kValues = kPixelsAtOnce * kGroupsAtOnce * kLanes;
      const auto memory =
          Storage::allocate(static_cast<std::size_t>(kValues) * (sizeof(Value) + sizeof(Element)));
      auto* const packed = static_cast<Element*>(memory->data());
      auto* const rows = reinterpret_cast<Value*>(packed + kValues);
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t part = 0; part < count; ++part) {
          add_block(g, part_of(g.results(), first + part), cut.block(i),
                    panels + part * g.panel_elements(), rows, packed);
        }
      }
    });
  }
}

// sums[value of a window][padded] to [O, C, kh, kw].
void write_filters(const float* sums, std::int64_t padded, Array& target, bool accumulate) {
  const std::int64_t taps = target.dim(2) * target.dim(3);
  const std::int64_t k = target.dim(1) * taps;
  float* const to = target.data<float>();
  // A line of sums is read at once.
  constexpr std::int64_t kColumns = 16;
  const std::int64_t filters = target.dim(0);
  parallel_for((filters + kColumns - 1) / kColumns, 1 + 4096 / k,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t o = begin * kColumns; o < std::min(end * kColumns, filters);
                      o += kColumns) {
                   const std::int64_t count = std::min(kColumns, filters - o);
                   for (std::int64_t i = 0; i < k; ++i) {
                     const std::int64_t group = i / kLanes;
                     const std::int64_t channel = group / taps * kLanes + i % kLanes;
                     float* place = to + o * k + channel * taps + group % taps;
                     const float* const from = sums + i * padded + o;
                     for (std::int64_t j = 0; j < count; ++j, place += k) {
                       *place = accumulate ? *place + from[j] : from[j];
                     }
                   }
                 }
               });
}

// The parts of the bias's gradient, in their order.
void write_bias(float* parts, std::int64_t count, Array& target, bool accumulate) {
  const std::int64_t n = target.size();
  float* const to = target.data<float>();
  if (!accumulate) std::fill_n(to, n, 0.0F);
  for (std::int64_t part = 0; part < count; ++part) {
    flat_loops().add(parts + part * n, to, 0, n);
  }
}

template <class Products, class T>
void gradient_of_weights(const Array& x, const Array& dy, const Conv2dGeometry& geometry,
                         const Conv2dWeightGradients& out) {
  const Shape& weight = out.weight->shape();
  WeightGradient<Products, T> g{blocked_images<const T>(x),
                                windows_of_results(dy.shape(), weight, geometry),
                                blocked_images<const T>(dy), nullptr, nullptr};
  const Array sums = Array::empty({g.groups() * kLanes, g.padded()});
  g.sums = static_cast<float*>(sums.raw_data());
  Array biases;
  if (out.bias != nullptr) {
    biases = Array::empty({g.parts(), g.filters()});
    g.biases = biases.data<float>();
  }
  sum_all(g);
  write_filters(g.sums, g.padded(), *out.weight, out.accumulate_weight);
  if (out.bias != nullptr) write_bias(g.biases, g.parts(), *out.bias, out.accumulate_bias);
}

}  // namespace

void conv2d_backward_weights(const Array& given_x, const Array& given,
                             const Conv2dGeometry& geometry, const Conv2dWeightGradients& out) {
  const Array x = in_blocks_of_8(given_x);
  const Array g = in_blocks_of_8(given);
  with_products(x.dtype(), [&]<class Products, class T>() {
    gradient_of_weights<Products, T>(x, g, geometry, out);
  });
}

}  // namespace weft::windows
