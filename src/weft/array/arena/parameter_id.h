// ParameterId: which parameter of a model, as its index in the Layout.
#pragma once

#include <cstdint>

#include "weft/base/strong.h"

namespace weft {

using ParameterId = Strong<struct ParameterIdTag, std::int32_t>;
inline constexpr ParameterId kNoParameter{-1};

}  // namespace weft
