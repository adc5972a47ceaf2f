#include "weft/kernel/conv/windows/window_filters.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "weft/base/parallel.h"
#include "weft/kernel/core/prepared_weights.h"

namespace weft::windows {
namespace {

// Values that a thread copies at least.
constexpr std::int64_t kCopyGrain = 16 * 1024;

template <class From, class To>
To converted(From value) {
  if constexpr (std::is_same_v<From, To>) {
    return value;
  } else {
    return in_f32(value);
  }
}

// Filters as they lie in memory, and how a product reads them.
template <class From>
struct Filters {
  // Column n of values [first, first + depth) of a window.
  template <class To>
  void copy_column(std::int64_t n, std::int64_t first, std::int64_t depth, To* to) const {
    const auto count = static_cast<std::int64_t>(taps.size());
    for (std::int64_t group = first / kLanes; group < (first + depth) / kLanes; ++group) {
      const From* from = data + group / count * kLanes * channel_step + n * result_step +
                         taps[static_cast<std::size_t>(group % count)];
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        *to++ = converted<From, To>(*from);
        from += channel_step;
      }
    }
  }

  const From* data;
  std::int64_t channel_step;
  std::int64_t result_step;
  const std::vector<std::int64_t>& taps;
};

template <class Products, class From>
void pack_filters(const Filters<From>& filters, std::int64_t k, std::int64_t n,
                  typename Products::Element* packed) {
  using Value = typename Products::Value;
  const std::int64_t step = Products::depth(k);
  const std::int64_t padded = gemm_blocks::padded_columns(n);
  const bool as_they_lie = std::is_same_v<Value, From> && filters.taps.size() == 1;
  parallel_for(
      padded / kGemmPanel, 1 + kCopyGrain / (kGemmPanel * k),
      [&](std::int64_t begin, std::int64_t end) {
        const auto memory = Storage::allocate(
            as_they_lie ? 1 : static_cast<std::size_t>(kGemmPanel * step) * sizeof(Value));
        auto* const columns = static_cast<Value*>(memory->data());
        for (std::int64_t panel = begin; panel < end; ++panel) {
          const std::int64_t first = panel * kGemmPanel;
          const std::int64_t count = std::min(kGemmPanel, n - first);
          for (std::int64_t part = 0; part < k; part += step) {
            const std::int64_t depth = std::min(step, k - part);
            auto* const to =
                packed + padded * Products::elements(part) + first * Products::elements(depth);
            if constexpr (std::is_same_v<Value, From>) {
              if (as_they_lie) {
                const Value* const from = filters.data + filters.taps[0] +
                                          part * filters.channel_step + first * filters.result_step;
                Products::pack({from, filters.channel_step, filters.result_step}, depth, count, to);
                continue;
              }
            }
            for (std::int64_t j = 0; j < count; ++j) {
              filters.copy_column(first + j, part, depth, columns + j * depth);
            }
            Products::pack({columns, 1, depth}, depth, count, to);
          }
        }
      });
}

template <class Products, class From>
void pack_weight(const Array& weight, const FilterUse& use, std::int64_t k, std::int64_t n,
                 typename Products::Element* packed) {
  const std::int64_t taps = weight.dim(2) * weight.dim(3);
  const std::int64_t filter = weight.dim(1) * taps;
  pack_filters<Products, From>(
      {static_cast<const From*>(weight.raw_data()), use.of_gradients ? filter : taps,
       use.of_gradients ? taps : filter, use.taps},
      k, n, packed);
}

}  // namespace

Array in_order_of_windows(const Array& weight) {
  const std::int64_t taps = weight.dim(2) * weight.dim(3);
  const std::int64_t depth = weight.dim(1) * taps;
  Array rows = Array::empty({weight.dim(0), depth});
  const float* const from = weight.data<float>();
  float* const to = rows.data<float>();
  parallel_for(weight.dim(0), 1 + kCopyGrain / depth, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * depth; i < end * depth; i += kLanes * taps) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
          to[i + tap * kLanes + lane] = from[i + lane * taps + tap];
        }
      }
    }
  });
  return rows;
}

std::shared_ptr<const PackedMatrix> kept_filters(const Array& weight) {
  return PreparedWeights::get<PackedMatrix>(weight, WeightForm::kWindowPanels, [&] {
    const Array rows = in_order_of_windows(weight);
    const std::int64_t depth = rows.dim(1);
    return std::make_shared<PackedMatrix>(GemmOperand{rows.data<float>(), 1, depth}, depth,
                                          rows.dim(0));
  });
}

template <class Products>
FilterPanels<Products>::FilterPanels(const Array& weight, const FilterUse& use)
    : k_(weight.dim(use.of_gradients ? 0 : 1) * static_cast<std::int64_t>(use.taps.size())),
      n_(weight.dim(use.of_gradients ? 1 : 0)) {
  const std::int64_t elements = gemm_blocks::padded_columns(n_) * Products::elements(k_);
  auto memory = Storage::allocate(static_cast<std::size_t>(elements) * sizeof(Element));
  auto* const packed = static_cast<Element*>(memory->data());
  if (weight.dtype() == DType::kBF16) {
    pack_weight<Products, std::uint16_t>(weight, use, k_, n_, packed);
  } else if constexpr (std::is_same_v<Products, FloatProducts>) {
    pack_weight<Products, float>(weight, use, k_, n_, packed);
  }
  data_ = packed;
  owner_ = std::move(memory);
}

template class FilterPanels<FloatProducts>;
template class FilterPanels<PairsProducts>;

}  // namespace weft::windows
