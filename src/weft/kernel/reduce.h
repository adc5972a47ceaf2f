// Reductions over any axes of strided f32 and f64 arrays.
//
// Sums are taken in f64 and pairwise along contiguous runs, so the sum of 20,000,001 ones is right
// to the last bit of its type. Work is split over outputs and over fixed parts of long runs, never
// by the number of threads: the same bits for any thread count and instruction set.
// Fails: a maximum over no values throws std::invalid_argument.
#pragma once

#include <cstdint>

#include "weft/array/array.h"

namespace weft {

enum class ReduceOp { kSum, kMax };

// Bit i set: axis i is reduced.
using AxisMask = std::uint32_t;

// The shape of the result: reduced axes have length 1 with keepdims, else they are gone.
Shape reduced_shape(const Shape& shape, AxisMask axes, bool keepdims);

// Contiguous, type of `x`. Sums are multiplied by `scale` before they are rounded to it.
Array reduce(ReduceOp op, const Array& x, AxisMask axes, bool keepdims, double scale = 1.0);

// `x` summed over the axes along which `shape` was broadcast to x's shape; itself if none.
Array sum_to_shape(const Array& x, const Shape& shape);

}  // namespace weft
