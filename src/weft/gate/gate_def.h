// What a file NAME_gate.cpp defines: one gate.
#pragma once

#include <span>
#include <string_view>

#include "weft/base/option.h"
#include "weft/gate/gate.h"

namespace weft {

// What a gate is given.
struct GateInput {
  // In the order of GateDef::options.
  std::span<const double> options;
};

struct GateDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  std::span<const Option> options = {};
  // As Gate::weight(). Null: late gradients never count.
  double (*weight)(const GateInput& input, const Lateness& late) = nullptr;
  // The gradient of one parameter, the mean over the member's own samples, as it would be after the
  // parameter has moved by `moved`. Null: it stays.
  double (*corrected)(const GateInput& input, double gradient, double moved) = nullptr;
};

}  // namespace weft
