// Values and whole lists of samples for the op table, and the naive references they compare with.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "weft/array/array.h"
#include "weft/op/core/op_def.h"

namespace weft {

struct ValueRange {
  double low = -1.0;
  double high = 1.0;
};

// f64, contiguous, uniform in [low, high), the same for the same seed. No two values are closer
// than (high - low) / (8 * size), so that a finite difference crosses no kink of max or relu.
Array sample_values(const Shape& shape, std::uint64_t seed, double low = -1.0, double high = 1.0);
Array sample_values(const Shape& shape, std::uint64_t seed, ValueRange range);

// f over the elements of one array, or of two that broadcast: plain loops over indexes.
Array map_values(const Array& a, const std::function<double(double)>& f);
Array map_values(const Array& a, const Array& b, const std::function<double(double, double)>& f);

// Samples of an elementwise op: vector, odd sizes, one element, no elements, broadcasting.
using UnaryTensorOp = std::function<Tensor(const Tensor&)>;
std::vector<OpSample> unary_samples(const UnaryTensorOp& op,
                                    const std::function<double(double)>& reference,
                                    ValueRange range = {});
using BinaryTensorOp = std::function<Tensor(const Tensor&, const Tensor&)>;
std::vector<OpSample> binary_samples(const BinaryTensorOp& op,
                                     const std::function<double(double, double)>& reference,
                                     ValueRange range_b = {});

// Samples of a reduction; `reference` gets the values that one output reduces, in order.
using ReduceTensorOp = std::function<Tensor(const Tensor&, const std::vector<int>&, bool)>;
std::vector<OpSample> reduce_samples(
    const ReduceTensorOp& op, const std::function<double(std::span<const double>)>& reference);

}  // namespace weft
