// Code shared by the poolings: checks, references and samples. For op/*_pool*_op.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/array/pair.h"
#include "weft/kernel/pool/pool.h"
#include "weft/op/core/op_def.h"
#include "weft/op/pool.h"

namespace weft {

// Strides of 0 replaced. Throws std::invalid_argument "[op] expected ..., got ...".
Pool2dGeometry check_pool(const char* op, const Tensor& x, const Pool2dOptions& options);

// Images of at least one pixel and at least one window. Throws as check_pool.
void check_adaptive_pool(const char* op, const Tensor& x, const Pair& size);

// A window of a reference: its values on the image, and its number of places on the padded image.
struct PoolWindow {
  std::vector<double> values;
  std::int64_t places = 0;
};
using PoolOfWindow = std::function<double(const PoolWindow&, const Pool2dOptions&)>;
double largest_of_window(const PoolWindow& window, const Pool2dOptions& options);
double mean_of_window(const PoolWindow& window, const Pool2dOptions& options);

// y[...] = of_window(that window).
Array pool_reference(const Array& x, const Pool2dOptions& options, const PoolOfWindow& of_window);

// x [N, C, L] as [N, C, 1, L], and the options for that. Throws naming `op`.
Tensor as_image(const char* op, const Tensor& x);
Tensor as_sequence(const Tensor& y);
Pool2dOptions options_2d(const Pool1dOptions& options);

// Windows that touch, overlap, leave gaps and reach over the edge; odd sizes, one pixel, nothing.
std::vector<OpSample> pool_samples(
    const std::function<Tensor(const Tensor&, const Pool2dOptions&)>& op,
    const PoolOfWindow& of_window);
std::vector<OpSample> pool1d_samples(
    const std::function<Tensor(const Tensor&, const Pool1dOptions&)>& op,
    const PoolOfWindow& of_window);
// `size` windows that cover the image; an adaptive pooling.
std::vector<OpSample> adaptive_pool_samples(
    const std::function<Tensor(const Tensor&, const Pair&)>& op, const PoolOfWindow& of_window);

}  // namespace weft
