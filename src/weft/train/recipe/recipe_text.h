// Checks a recipe's text before a TOML parser reads it.
//
// A recipe may come from a peer. toml++ 3.3 reaches code that it marks as unreachable when
// characters beyond ASCII are where a key or a value may begin, so those are refused here. In
// comments and in strings of one line they are allowed; strings of several lines are refused,
// because no key takes one.
// Threads: pure. Fails: kInvalidArgument, naming file, line and remedy.
#pragma once

#include <string_view>

#include "weft/base/status.h"

namespace weft {

inline constexpr std::size_t kRecipeTextBytesMax = std::size_t{1} << 20;

Status check_recipe_text(std::string_view text, std::string_view file_name);

}  // namespace weft
