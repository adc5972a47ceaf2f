// Places along an axis that no operation of Weft finds: those of running extremes, and of the most
// frequent value. The values are gathered from them, which gives them a history.
//
// Threads: as kernels. Fails: std::invalid_argument for an axis out of range, or of length 0.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft::python {

// int64, of the shape of x: the place of the largest (smallest) value up to each place; of equal
// values the last, and a NaN from the first one on.
Tensor running_extreme(const Tensor& x, int axis, bool largest);
// int64, without the last axis: the last place of the most frequent value along it; of values that
// are equally frequent the smallest.
Tensor most_frequent(const Tensor& x);

}  // namespace weft::python
