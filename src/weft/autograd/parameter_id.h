// ParameterId: the index of a parameter in its Layout, the name by which a gradient leaves
// backward().
#pragma once

#include <cstdint>

#include "weft/base/strong.h"

namespace weft {

using ParameterId = Strong<struct ParameterIdTag, std::int32_t>;

// What a leaf has that is no parameter.
inline constexpr ParameterId kNoParameter{-1};

}  // namespace weft
