// The values of an array in memory of another order, for what must not depend on that. For tests.
#pragma once

#include <cmath>

#include "weft/array/array.h"

namespace weft {

// A view with the values of `x` and the memory of its transpose.
inline Array transposed(const Array& x) {
  return x.ndim() < 2 ? x : x.transpose(0, -1).clone().transpose(0, -1);
}

// Every second element, from the second on, of a larger array whose other elements are NaN.
inline Array every_second(const Array& x) {
  if (x.ndim() == 0) return x;
  Shape larger = x.shape();
  for (std::int64_t& size : larger) size = 2 * size + 1;
  Array view = Array::full(larger, is_floating(x.dtype()) ? std::nan("") : 0.0, x.dtype());
  for (int axis = 0; axis < x.ndim(); ++axis) view = view.slice(axis, 1, 2 * x.dim(axis), 2);
  view.copy_from(x);
  return view;
}

// Backwards along the last axis.
inline Array reversed(const Array& x) {
  return x.ndim() == 0 ? x : x.slice(-1, {}, {}, -1).clone().slice(-1, {}, {}, -1);
}

}  // namespace weft
