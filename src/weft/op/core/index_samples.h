// Code shared by the samples and references of indexing operations.
#pragma once

#include <functional>

#include "weft/op/core/sample.h"

namespace weft {

// i64 in [0, below), the same for the same seed.
Array sample_indexes(const Shape& shape, std::int64_t below, std::uint64_t seed);
// The same without a value twice. REQUIRES: count <= below.
Array sample_distinct_indexes(std::int64_t count, std::int64_t below, std::uint64_t seed);

// Calls body(i, place) for every index of an array of `shape`, in order.
void each_index(const Shape& shape,
                const std::function<void(const Dims& i, std::int64_t place)>& body);
// The place of element `i` of a contiguous array.
std::int64_t row_major(const Dims& i, const Shape& shape);

}  // namespace weft
