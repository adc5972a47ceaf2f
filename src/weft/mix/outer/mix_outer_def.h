// A file NAME_outer.cpp defines one of these: an outer step of MixOuter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "weft/base/option.h"
#include "weft/mix/outer/mix_outer.h"

namespace weft {

struct MixOuterInput {
  // In the order of MixOuterDef::options.
  std::span<const double> options;
  std::uint64_t step = 1;
};

struct MixOuterDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  std::span<const Option> options = {};
  std::size_t slots = 0;
  // By how much a parameter moves down for its delta. `slots` are its own, zero at first.
  float (*move)(const MixOuterInput& input, float delta, std::span<float> slots);
};

}  // namespace weft
