// Scans along one axis: running sums and products, and the place of an extreme value.
//
// Running values of floats are kept in f64 and rounded where they are stored; those of integers
// and bool are i64 and wrap around. Lines are split over the threads: the same bits for any number.
#pragma once

#include <cstdint>

#include "weft/array/array.h"

namespace weft {

// y[i] = x[0] + ... + x[i] along `axis` (in range), or of x[i] + ... + x[last] with reverse.
Array cumulative_sum(const Array& x, int axis, bool reverse = false);
Array cumulative_product(const Array& x, int axis);
// The gradient of x where y = cumulative_product(x): sums of products without a division, so zeros
// in x do no harm; linear time. Floating types.
Array cumulative_product_gradient(const Array& x, const Array& dy, int axis);

enum class Extreme : std::uint8_t { kMax, kMin };
// The first position (i64) of the largest or smallest value along `axis`; NaN counts as both.
// Throws std::invalid_argument if the axis is empty and the result is not.
Array extreme_index(Extreme extreme, const Array& x, int axis, bool keepdims);

}  // namespace weft
