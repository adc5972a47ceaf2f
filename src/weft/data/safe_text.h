// Text of a stranger's file for a terminal: what a file or a name holds never moves the cursor,
// sets a title or turns the direction of writing.
//
// Threads: pure functions. Fails: never.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// printable() of at most `characters_max` characters of `text`, with "..." behind them where it is
// longer.
std::string safe_text(std::string_view text, std::size_t characters_max = 80);

}  // namespace weft
