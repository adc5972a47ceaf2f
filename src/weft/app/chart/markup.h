// markup: text and numbers as HTML and SVG need them.
//
// Names of recipes and reasons of failures are other people's text. Everything that has a meaning
// in markup is escaped, and what XML does not permit at all (control characters, bytes that are not
// UTF-8) is shown as printable() shows it.
//
// Where it stands: line_plot.h, compare/report_page.h -> here. Threads: pure functions.
// Fails: never.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// For element content and for attribute values in single or double quotes.
std::string escaped_markup(std::string_view text);

// A coordinate in pixels with at most two decimals: "12.5", "-0.25"; "0" for what is not finite.
std::string coordinate_text(double pixels);

// The first `characters_max` characters, the last of them "…" if there are more.
std::string shortened(std::string_view text, std::size_t characters_max);

// Characters (not bytes) of valid UTF-8.
std::size_t character_count(std::string_view text);

}  // namespace weft
