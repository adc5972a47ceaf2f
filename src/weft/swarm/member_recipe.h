// MemberRecipe: the settings that the founder of a group of programs sends to joiners, as text.
//
//   weft member 1
//   program TEXT
//   wire WORD
//   rounds NUMBER
//   start_members NUMBER
//   start_timeout_ms NUMBER
//   suspicion_timeout_ms NUMBER
//   lone_survivor 0|1
//   settings
//   TEXT of any length and lines
//
// The lines have this order; each one except the last ends with a line feed. Another program may
// have written the text: parsing takes any bytes.
// Threads: values. Fails: kInvalidArgument for a group that no SwarmTrainer has founded.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/status.h"
#include "weft/collective/swarm/member_options.h"

namespace weft {

inline constexpr std::size_t kProgramBytesMax = 200;
inline constexpr std::size_t kSettingsBytesMax = std::size_t{64} << 10U;

struct MemberRecipe {
  std::string program;
  std::string settings;
  SwarmGroupOptions group;
};

// Fails: kInvalidArgument for a program's name that is empty, too long or has several lines, and
// for settings that are too long.
Result<std::string> format_member_recipe(const MemberRecipe& recipe);
Result<MemberRecipe> parse_member_recipe(std::string_view text);

}  // namespace weft
