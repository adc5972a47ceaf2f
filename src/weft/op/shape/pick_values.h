// pick_values: the naive reference of operations that only move values.
#pragma once

#include <functional>
#include <optional>

#include "weft/op/core/sample.h"

namespace weft {

// Element `i` of the result is x[from(i)], or 0 where that is no element.
using PickFrom = std::function<std::optional<Dims>(Dims i)>;
Array pick_values(const Array& x, const Shape& shape, const PickFrom& from);

// A sample of an operation of one input that only moves values.
OpSample pick_sample(const char* name, const Shape& input,
                     const std::function<Tensor(const Tensor&)>& op, const Shape& output,
                     const PickFrom& from);

}  // namespace weft
