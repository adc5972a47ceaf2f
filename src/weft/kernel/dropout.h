// Dropout masks from Philox: each bit is a function of a key and a position, so forward and
// backward make the same mask without storing it, as do peers that hold parts of a batch.
#pragma once

#include <array>
#include <cstdint>

#include "weft/array/array.h"

namespace weft {

struct DropoutStream {
  std::array<std::uint32_t, 2> key{};
  // The row number of the first row of the array.
  std::uint64_t first_row = 0;
  double probability = 0;  // of a zero, in [0, 1)
};

// Value j of row i (row-major over all but the first axis) times 0 or 1 / (1 - probability): 0 if
// word j of the Philox stream (key, first_row + i) is below probability * 2^32. rows.h says in
// which order words come. Contiguous.
Array dropout_rows(const Array& x, const DropoutStream& stream);

}  // namespace weft
