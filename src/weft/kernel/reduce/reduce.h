// Reductions over any axes of strided arrays.
//
// Sums of floats are taken in f64 and pairwise along contiguous runs and rounded once, so the sum
// of 20,000,001 ones is right to the last bit of its type. Work is split over outputs and over
// fixed parts of long runs, never by the number of threads: the same bits for any thread count and
// instruction set. Sums and products of integers and bool are i64 and wrap around; the extremes
// have the type of x. NaN is larger and smaller than anything: an extreme of NaN is NaN.
// Fails: an extreme of no values throws std::invalid_argument.
#pragma once

#include <cstdint>

#include "weft/array/array.h"

namespace weft {

enum class ReduceOp : std::uint8_t { kSum, kMax, kMin, kProduct };

// Bit i set: axis i is reduced.
using AxisMask = std::uint32_t;

// The shape of the result: reduced axes have length 1 with keepdims, else they are gone.
Shape reduced_shape(const Shape& shape, AxisMask axes, bool keepdims);

// Contiguous. Sums of floats are multiplied by `scale` before they are rounded to x's type.
Array reduce(ReduceOp op, const Array& x, AxisMask axes, bool keepdims, double scale = 1.0);

// The sum of squared distances from the mean over (values - correction), in two passes in f64; 0
// of equal values, however their mean is rounded; NaN or infinite where values <= correction.
// Floating types.
Array variance(const Array& x, AxisMask axes, bool keepdims, double correction);

// The root of the sum of squares, in f64 until it is rounded. Floating types.
Array euclidean_norm(const Array& x, AxisMask axes, bool keepdims);

// `x` summed over the axes along which `shape` was broadcast to x's shape; itself if none.
Array sum_to_shape(const Array& x, const Shape& shape);

}  // namespace weft
