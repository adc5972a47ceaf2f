// toml_document: the TOML library as Weft uses it, and the text of a recipe's file.
//
// toml++ asserts what hostile text can break, such as "[!", and then reports the error by itself:
// its assertions are off in every build. Exceptions are off, too.
// For the sources of this folder alone. Threads: pure functions, which read a file.
// Fails: kInvalidArgument with the file, the line and the remedy.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <string>
#include <string_view>

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "weft/base/status.h"

namespace weft {

// The text of the recipe at `path`; a folder, an empty file or none is refused.
Result<std::string> read_recipe_text(const std::string& path);
// `file_name` is only for messages.
Result<toml::table> parse_toml(std::string_view text, std::string_view file_name);
// `text` in quotes. REQUIRES: it is printable.
std::string toml_quoted(std::string_view text);

}  // namespace weft
