// Filters as panels of a product with windows.
//
// For kernel/conv. Threads: the calling thread and the compute threads.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weft/array/array.h"
#include "weft/array/storage/storage.h"
#include "weft/kernel/conv/windows/window_products.h"
#include "weft/kernel/conv/windows/windows.h"

namespace weft::windows {

// Filters [O, C, kh, kw] of f32, contiguous, as rows [O][value of a window].
Array in_order_of_windows(const Array& weight);

// Their transpose as a factor, kept where weights are (core/prepared_weights.h); null where nothing
// is kept.
std::shared_ptr<const PackedMatrix> kept_filters(const Array& weight);

// Which products these are: with windows of results, or of gradients, whose channels are O and
// whose results are C; of the taps, by their places in a filter, in the order of the window.
struct FilterUse {
  bool of_gradients = false;
  std::vector<std::int64_t> taps;
};

// The same for any use, of filters f32 or bf16: parts of Products::depth() values of a window, each
// with all its panels.
template <class Products>
class FilterPanels {
 public:
  using Element = typename Products::Element;
  FilterPanels(const Array& weight, const FilterUse& use);
  // Those that `owner` keeps.
  FilterPanels(std::shared_ptr<const void> owner, const Element* data, std::int64_t k,
               std::int64_t n)
      : owner_(std::move(owner)), data_(data), k_(k), n_(n) {}

  // Values of a window, and results of each.
  std::int64_t k() const { return k_; }
  std::int64_t n() const { return n_; }
  // Those of values [first, first + depth) of a window. REQUIRES: the part begins there.
  const Element* part(std::int64_t first) const {
    return data_ + gemm_blocks::padded_columns(n_) * Products::elements(first);
  }

 private:
  std::shared_ptr<const void> owner_;
  const Element* data_;
  std::int64_t k_;
  std::int64_t n_;
};

}  // namespace weft::windows
