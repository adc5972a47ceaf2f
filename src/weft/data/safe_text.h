// Makes text from a stranger's file safe for a terminal: it cannot move the cursor, set a title or
// reverse the direction of writing.
//
// Threads: pure functions. Fails: never.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// Returns printable() of at most `characters_max` characters of `text`, followed by "..." if it is
// longer.
std::string safe_text(std::string_view text, std::size_t characters_max = 80);

}  // namespace weft
