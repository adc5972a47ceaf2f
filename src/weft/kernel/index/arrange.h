// Kernels that move values by a fixed rule: triangles, sliding windows, masks.
//
// Any dtype and strides; results are contiguous. Outputs are split over the threads.
#pragma once

#include "weft/array/array.h"

namespace weft {

// Which side of a diagonal of the last two axes stays; the other becomes 0.
enum class Triangle : std::uint8_t { kUpper, kLower };

// Element (i, j) stays if j - i >= diagonal (upper) or <= diagonal (lower). `x` has 2 axes or more.
Array triangle(const Array& x, Triangle side, std::int64_t diagonal);

// The sum of overlapping windows: the adjoint of Array views x[.., i step + w, ..] -> [.., i, ..,
// w] (the window axis last). `windows` [.., count, .., size] -> [.., length, ..].
struct FoldShape {
  int axis;
  std::int64_t length;
  std::int64_t step;
};
Array fold_windows(const Array& windows, const FoldShape& shape);

// `x` with `value`, converted, where `mask` (bool, broadcasts to x) is true.
Array masked_fill(const Array& x, const Array& mask, double value);

// 1 at [.., labels[..]], else 0: [..., classes]. Labels i64 in [0, classes), else
// std::invalid_argument.
Array one_hot_rows(const Array& labels, std::int64_t classes, DType dtype);

// The row-major numbers of the elements that are not 0: i64 [count]. Reads values on the host.
Array nonzero_elements(const char* name, const Array& x);

}  // namespace weft
