// What max_pool2d and avg_pool2d share: their checks and the walk over windows that the references
// use. For op/*_pool2d_op.cpp.
#pragma once

#include <functional>
#include <vector>

#include "weft/kernel/pool.h"
#include "weft/op/op_def.h"
#include "weft/op/pool.h"

namespace weft {

// Strides of 0 replaced. Throws std::invalid_argument "[op] expected ..., got ...".
Pool2dGeometry check_pool(const char* op, const Tensor& x, const Pool2dOptions& options);

// y[...] = of_window(the values of the window that lie on the image), by slices.
Array pool_reference(const Array& x, const Pool2dOptions& options,
                     const std::function<double(const std::vector<double>&)>& of_window);

// Windows that touch, overlap, leave gaps and reach over the edge; odd sizes, one pixel, nothing.
std::vector<OpSample> pool_samples(
    const std::function<Tensor(const Tensor&, const Pool2dOptions&)>& op,
    const std::function<double(const std::vector<double>&, const Pool2dOptions&)>& of_window);

}  // namespace weft
