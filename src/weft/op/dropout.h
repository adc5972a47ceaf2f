// dropout whose mask depends on the position in the global batch, not on who computes it.
#pragma once

#include <cstdint>

#include "weft/autograd/tensor.h"

namespace weft {

struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t layer = 0;
  // Index of the first row of `x` in the global batch.
  std::uint64_t first_row = 0;
};

// Zeroes each value with probability `p` in [0, 1) and scales the others by 1 / (1 - p); the
// identity unless `training`. Whether value j of row i is dropped depends on (seed, step, layer,
// first_row + i, j) alone, so a batch that is split over peers has the mask of the whole batch.
Tensor dropout(const Tensor& x, double p, const DropoutKey& key, bool training);

// The same with seed, step and first row read from `words`, i64 [3], when the mask is drawn: each
// replay of a captured step uses their present values (Module::step_words). The first form throws
// under capture, where its mask would be the same in every replay.
Tensor dropout(const Tensor& x, double p, const Array& words, std::uint32_t layer, bool training);

}  // namespace weft
