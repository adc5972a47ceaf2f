// Texts as JSON.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// "a \"text\"" between quotation marks; bytes that are no UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

}  // namespace weft
