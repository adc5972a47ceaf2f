// Texts as JSON, and the JSON of an error.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// "a \"text\"" between quotation marks; bytes that are no UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

// {"error": {"message": ..., "type": ..., "code": STATUS}}, as clients of OpenAI's API read it.
std::string error_json(int status, std::string_view message);

}  // namespace weft
