// A file NAME_trigger.cpp defines one of these: a trigger of MixTrigger.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "weft/base/option.h"
#include "weft/mix/trigger/mix_trigger.h"

namespace weft {

struct MixTriggerDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  std::span<const Option> options = {};
  // As MixTrigger::is_round().
  bool is_round = false;
  // As MixTrigger's; without one they are what the recipe says, and nobody works ahead.
  std::uint32_t (*steps)(std::span<const double> options, std::uint64_t version,
                         std::uint32_t steps) = nullptr;
  std::uint64_t (*delay)(std::span<const double> options) = nullptr;
  // As MixTrigger::has_timeout(); without it, no.
  bool (*has_timeout)(std::span<const double> options) = nullptr;
  std::unique_ptr<MixTriggerState> (*make)(MixTriggerInput input) = nullptr;
};

}  // namespace weft
