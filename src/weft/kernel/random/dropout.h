// Dropout masks from Philox: each bit is a function of a key and a position, so forward and
// backward make the same mask without storing it, as do peers that hold parts of a batch.
//
// Keys are arrays, so that a captured step draws new masks in every replay.
#pragma once

#include <array>
#include <cstdint>

#include "weft/array/array.h"

namespace weft {

// The values that a kernel's body reads from a stream's array.
struct DropoutStream {
  std::array<std::uint32_t, 2> key{};
  // The row number of the first row of the array.
  std::uint64_t first_row = 0;
  double probability = 0;  // of a zero, in [0, 1)
};
DropoutStream read_dropout_stream(const Array& stream, double probability);

// The stream of one use: i64 [3], the two words of a Philox key and the number of the first row.
// `words` is i64 [3]: seed, step and the number of the first row in the global batch. One key for
// each (seed, step, layer). The copy keeps the words from the time of the forward.
Array dropout_stream(const Array& words, std::uint32_t layer);

// Value j of row i (row-major over all but the first axis) times 0 or 1 / (1 - probability): 0 if
// word j of the Philox stream (key, first row + i) is below probability * 2^32, for a probability
// in [0, 1). rows.h defines the order of the words. Contiguous.
Array dropout_rows(const Array& x, const Array& stream, double probability);

}  // namespace weft
