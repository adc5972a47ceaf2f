#include "weft/kernel/conv/windows/window_conv.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/array/dtype/half_rows.h"
#include "weft/base/parallel.h"
#include "weft/kernel/conv/conv_onednn.h"
#include "weft/kernel/conv/windows/window_filters.h"
#include "weft/kernel/conv/windows/window_tiles.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/core/optional_operand.h"
#include "weft/kernel/core/prepared_weights.h"
#include "weft/kernel/elementwise/convert.h"

namespace weft::windows {
namespace {

using gemm_blocks::kRowsAtOnce;

// Columns of filters at once: the sums of all rows stay in the second-level cache.
constexpr std::int64_t kColumnsAtOnce = 512;
// Rows of sums lie so much farther apart than they are long: powers of two would share few sets of
// the cache.
constexpr std::int64_t kSumsApart = kGemmPanel;

// Results that are written together: two blocks of their sums stay in the first-level cache.
constexpr std::int64_t kWrittenAtOnce = 16;
// Results in a row of an image from which on tiles are of one row each; those of several rows are
// higher, but their windows are copied.
constexpr std::int64_t kRowMin = 7;
// Rows of a tile up to which oneDNN's loops are faster in f32: those of sets with 16 registers.
constexpr std::int64_t kLowTile = 6;
// Values that a thread fills at least.
constexpr std::int64_t kFillGrain = 64 * 1024;

// The products of one convolution, or of one place of a pixel in its data gradient. Result (r, c)
// of the grid is pixel origin + step * (r, c) of y.
template <class Products, class T>
struct Product {
  // Whether results lie in y one after the other.
  bool writes_in_order() const {
    return step == Pair(1) && grid.rows == y.height && grid.columns == y.width;
  }
  // Whether tiles are of one row of an image each.
  bool in_rows() const {
    return std::is_same_v<T, typename Products::Value> && grid.step[1] <= kStepMax &&
           grid.columns >= kRowMin;
  }
  // Whether tiles write their results to y; otherwise sums are copied.
  bool in_place() const { return std::is_same_v<T, float> && (in_rows() || writes_in_order()); }
  // Results that lie in y at equal distances, one after the other.
  std::int64_t run_length() const {
    if (in_rows()) return grid.columns;
    return in_place() ? grid.results() : grid.results() * x.images;
  }
  std::int64_t results() const { return x.images * grid.results(); }
  // The place of the first value of a result in y.
  std::int64_t place(std::int64_t result) const {
    const Run run = run_at(grid, {result, 1});
    return y.at(run.image, 0, pixel_of(run)) - y.data;
  }
  // The pixel of y that the first result of a run is.
  std::int64_t pixel_of(const Run& run) const {
    return (origin[0] + run.row * step[0]) * y.width + origin[1] + run.column * step[1];
  }

  BlockedImages<const T> x;
  WindowGrid grid;
  const FilterPanels<Products>& filters;
  const float* bias;
  bool relu;
  BlockedImages<T> y;
  Pair origin;
  Pair step;
};

// Results that a thread computes at once: some of a run, or several whole ones.
class Strips {
 public:
  Strips(std::int64_t results, std::int64_t run_length)
      : all_(results),
        run_(run_length),
        of_run_((run_ + kRowsAtOnce - 1) / kRowsAtOnce),
        runs_(std::max<std::int64_t>(1, kRowsAtOnce / run_)) {}

  std::int64_t count() const {
    const std::int64_t runs = all_ / run_;
    return of_run_ > 1 ? runs * of_run_ : (runs + runs_ - 1) / runs_;
  }
  Range results(std::int64_t i) const {
    if (of_run_ == 1) {
      const std::int64_t first = i * runs_ * run_;
      return {first, std::min(runs_ * run_, all_ - first)};
    }
    const std::int64_t first = i % of_run_ * run_ / of_run_;
    return {i / of_run_ * run_ + first, (i % of_run_ + 1) * run_ / of_run_ - first};
  }

 private:
  std::int64_t all_;
  std::int64_t run_;
  std::int64_t of_run_;  // strips of a run
  std::int64_t runs_;    // runs of a strip
};

// What one thread works with.
template <class Products, class T>
struct Buffers {
  explicit Buffers(const Product<Products, T>& p)
      : stride(std::min(gemm_blocks::padded_columns(p.filters.n()), kColumnsAtOnce) + kSumsApart),
        tiles(kRowsAtOnce, std::min(Products::depth(p.filters.k()), p.filters.k()) / kLanes,
              p.in_rows()) {
    const std::int64_t sum_bytes =
        p.in_place() ? 0 : kRowsAtOnce * stride * std::int64_t{sizeof(float)};
    const std::int64_t narrow_bytes = kWrittenAtOnce * stride * std::int64_t{sizeof(T)};
    storage = Storage::allocate(static_cast<std::size_t>(sum_bytes + narrow_bytes));
    sums = static_cast<float*>(storage->data());
    narrow = reinterpret_cast<T*>(static_cast<std::uint8_t*>(storage->data()) + sum_bytes);
  }

  std::int64_t stride;  // of rows of sums
  WindowTiles<Products, T> tiles;
  std::shared_ptr<Storage> storage;
  float* sums;
  T* narrow;  // kWrittenAtOnce rows of results
};

// Rows of sums in y's type: themselves or rounded.
inline const float* in_type_of_results(const float* sums, std::int64_t, float*) { return sums; }
inline const std::uint16_t* in_type_of_results(const float* sums, std::int64_t count,
                                               std::uint16_t* narrow) {
  static_assert(sizeof(BFloat16) == sizeof(std::uint16_t));
  from_f32_row(sums, reinterpret_cast<BFloat16*>(narrow), count);
  return narrow;
}

// Columns [first, first + count) of `results` from the sums. Each block of channels of some results
// is one run of memory: block by block, because the blocks of one pixel often share a set of the
// cache.
template <class Products, class T>
void write_results(const Product<Products, T>& p, const Range& results, std::int64_t first,
                   std::int64_t count, const Buffers<Products, T>& buffers) {
  const std::int64_t stride = buffers.stride;
  const std::int64_t rows = p.writes_in_order() ? 1 : p.grid.rows;
  const std::int64_t columns = p.writes_in_order() ? p.grid.results() : p.grid.columns;
  const std::int64_t pixel_step = p.step[1] * kLanes;
  const float* sums = buffers.sums;
  for_each_run(rows, columns, results, kWrittenAtOnce, [&](const Run& run) {
    const T* const from = in_type_of_results(sums, run.count * stride, buffers.narrow);
    const std::int64_t pixel = p.pixel_of(run);
    for (std::int64_t j = 0; j < count; j += kLanes) {
      T* to = p.y.at(run.image, (first + j) / kLanes, pixel);
      const T* value = from + j;
      for (std::int64_t i = 0; i < run.count; ++i) {
        __builtin_prefetch(to + run.count * pixel_step, 1);
        copy_group(value, to);
        value += stride;
        to += pixel_step;
      }
    }
    sums += run.count * stride;
  });
}

// Where columns [first, ...) of the sums go.
template <class Products, class T>
GemmOutput sums_of(const Product<Products, T>& p, std::int64_t first,
                   const Buffers<Products, T>& buffers) {
  if constexpr (std::is_same_v<T, float>) {
    if (p.in_place()) {
      return {.data = p.y.at(0, first / kLanes, 0),
              .row_step = p.step[1] * kLanes,
              .block_step = p.y.height * p.y.width * kLanes};
    }
  }
  return {buffers.sums, buffers.stride};
}

template <class Products, class T>
void multiply_results(const Product<Products, T>& p, const Range& results,
                      Buffers<Products, T>& buffers) {
  const std::int64_t k = p.filters.k();
  const std::int64_t step = Products::depth(k);
  const bool in_place = p.in_place();
  const auto place = [&](std::int64_t result) {
    return in_place ? p.place(result) : (result - results.first) * buffers.stride;
  };
  for (std::int64_t j = 0; j < p.filters.n(); j += kColumnsAtOnce) {
    const std::int64_t columns = std::min(kColumnsAtOnce, p.filters.n() - j);
    GemmOutput out = sums_of(p, j, buffers);
    for (std::int64_t part = 0; part < k; part += step) {
      const std::int64_t depth = std::min(step, k - part);
      out.accumulate = part > 0;
      if (part + depth == k) {
        out.bias = p.bias != nullptr ? p.bias + j : nullptr;
        out.relu = p.relu;
      }
      const auto tiles = buffers.tiles.make(p.x, p.grid, results, p.run_length(),
                                            {part / kLanes, depth / kLanes}, place);
      Products::multiply_tiles(columns, depth, tiles,
                               p.filters.part(part) + j * Products::elements(depth), out);
    }
    if (!in_place) write_results(p, results, j, columns, buffers);
  }
}

// The strips of several products in turn, because they write the same lines of memory.
template <class Products, class T>
void run(std::span<Product<Products, T>> products) {
  std::vector<Strips> strips;
  std::int64_t count = 0;
  std::int64_t multiplications = 0;
  for (Product<Products, T>& p : products) {
    if (reads_in_order(p.x, p.grid) && p.writes_in_order()) {
      make_one_row(p.x, p.grid);
      p.y.width *= p.y.height;
      p.y.height = 1;
    }
    strips.emplace_back(p.results(), p.run_length());
    count = std::max(count, strips.back().count());
    multiplications += kRowsAtOnce * p.filters.k() * p.filters.n();
  }
  parallel_for(count, 1 + gemm_blocks::kGrainProducts / std::max<std::int64_t>(multiplications, 1),
               [&](std::int64_t begin, std::int64_t end) {
                 std::vector<Buffers<Products, T>> buffers(products.begin(), products.end());
                 for (std::int64_t i = begin; i < end; ++i) {
                   for (std::size_t j = 0; j < products.size(); ++j) {
                     if (i >= strips[j].count()) continue;
                     multiply_results(products[j], strips[j].results(i), buffers[j]);
                   }
                 }
               });
}

// Kept where weights are.
template <class Products>
std::shared_ptr<const FilterPanels<Products>> filters_of_results(const Array& weight) {
  using Panels = FilterPanels<Products>;
  const auto make = [&] {
    FilterUse use;
    use.taps.resize(static_cast<std::size_t>(weight.dim(2) * weight.dim(3)));
    std::iota(use.taps.begin(), use.taps.end(), 0);
    return std::make_shared<const Panels>(weight, use);
  };
  if constexpr (std::is_same_v<Products, FloatProducts>) {
    // Those of f32 are kept for few pixels, too.
    if (weight.dtype() == DType::kF32) {
      const auto kept = kept_filters(weight);
      if (kept == nullptr) return make();
      return std::make_shared<const Panels>(kept, kept->data(), kept->k(), kept->n());
    }
  }
  const auto kept = PreparedWeights::get<Panels>(weight, WeightForm::kWindowPanels, make);
  return kept != nullptr ? kept : make();
}

template <class Products, class T>
void results_of(const Array& x, const Array& weight, const Array& bias,
                const Conv2dGeometry& geometry, bool relu, const Array& y) {
  const auto filters = filters_of_results<Products>(weight);
  Product<Products, T> product{blocked_images<const T>(x),
                               windows_of_results(y.shape(), weight.shape(), geometry),
                               *filters,
                               bias.defined() ? bias.data<float>() : nullptr,
                               relu,
                               blocked_images<T>(y),
                               0,
                               1};
  run(std::span(&product, 1));
}

// The pixels of x whose places within a step are `origin`: their windows of dy, and the taps of the
// filters for these.
struct Phase {
  WindowGrid grid;
  FilterUse use;
};

Phase phase_of(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry,
               const Pair& origin) {
  const auto results = [&](std::size_t axis) {
    const std::int64_t size = axis == 0 ? x[2] : x[3];
    return (size - origin[axis] + geometry.stride[axis] - 1) / geometry.stride[axis];
  };
  Phase phase{{results(0), results(1), 1, {}}, {true, {}}};
  const auto distance = [&](std::size_t axis, std::int64_t tap) {
    return origin[axis] + geometry.padding[axis] - tap * geometry.dilation[axis];
  };
  for (std::int64_t i = 0; i < weight[2]; ++i) {
    for (std::int64_t j = 0; j < weight[3]; ++j) {
      const std::int64_t rows = distance(0, i);
      const std::int64_t columns = distance(1, j);
      if (rows % geometry.stride[0] != 0 || columns % geometry.stride[1] != 0) continue;
      phase.grid.taps.emplace_back(rows / geometry.stride[0], columns / geometry.stride[1]);
      phase.use.taps.push_back(i * weight[3] + j);
    }
  }
  return phase;
}

template <class Products, class T>
void gradient_of_data(const Array& dy, const Array& weight, const Conv2dGeometry& geometry,
                      const Array& dx) {
  const auto from = blocked_images<const T>(dy);
  const auto to = blocked_images<T>(dx);
  std::deque<FilterPanels<Products>> filters;
  std::vector<Product<Products, T>> products;
  bool all_reached = true;
  for (std::int64_t i = 0; i < std::min(geometry.stride[0], to.height); ++i) {
    for (std::int64_t j = 0; j < std::min(geometry.stride[1], to.width); ++j) {
      const Phase phase = phase_of(dx.shape(), weight.shape(), geometry, {i, j});
      all_reached = all_reached && !phase.use.taps.empty();
      if (phase.use.taps.empty()) continue;
      const auto& panels = filters.emplace_back(weight, phase.use);
      products.push_back({from, phase.grid, panels, nullptr, false, to, {i, j}, geometry.stride});
    }
  }
  if (!all_reached) {
    const std::int64_t size = to.images * to.blocks * to.height * to.width * kLanes;
    parallel_for(size, kFillGrain, [&](std::int64_t begin, std::int64_t end) {
      std::fill(to.data + begin, to.data + end, T{});
    });
  }
  run(std::span(products));
}

}  // namespace

bool applies(DType dtype, const Shape& x, const Shape& weight, const Conv2dGeometry& geometry) {
  const bool fits = onednn::own_loops_are_faster() && geometry.groups == 1 && x[1] == weight[1] &&
                    weight[0] > 0 && weight[0] % kLanes == 0 && weight[1] > 0 &&
                    weight[1] % kLanes == 0;
  if (!fits || (dtype != DType::kF32 && dtype != DType::kBF16)) return false;
  if (dtype == DType::kBF16 && gemm_pairs_loops().preferred) return true;
  // Windows of several adjacent taps share most of their pixels, which oneDNN uses.
  const bool apart = weight[2] * weight[3] == 1 || geometry.stride[0] > 1 || geometry.stride[1] > 1;
  return apart && (dtype == DType::kBF16 || gemm_loops().rows > kLowTile);
}

void conv2d_forward(const Array& given, const Array& given_weight, const Array& given_bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y) {
  const Array x = in_blocks_of_8(given);
  const Array weight = given_weight.contiguous();
  const Array bias = given_bias.defined() ? convert(dense(given_bias), DType::kF32) : given_bias;
  with_products(x.dtype(), [&]<class Products, class T>() {
    results_of<Products, T>(x, weight, bias, geometry, relu, y);
  });
}

void conv2d_backward_data(const Array& given, const Array& given_weight,
                          const Conv2dGeometry& geometry, Array& dx) {
  const Array dy = in_blocks_of_8(given);
  const Array weight = given_weight.contiguous();
  with_products(dy.dtype(), [&]<class Products, class T>() {
    gradient_of_data<Products, T>(dy, weight, geometry, dx);
  });
}

}  // namespace weft::windows
