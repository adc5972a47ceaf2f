// summary(): the contents of a model, as text.
#pragma once

#include <cstdint>
#include <string>

#include "weft/nn/module.h"

namespace weft {

struct ParameterCounts {
  std::int64_t trained = 0;
  std::int64_t frozen = 0;
  std::int64_t buffers = 0;
};
ParameterCounts count_parameters(const Module& model);

// A table of all values, one per line (name, shape, number of elements, "frozen" or "buffer"), and
// the totals with their bytes.
std::string summary(const Module& model);

}  // namespace weft
