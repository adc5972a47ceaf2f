// The pages of `weft --help` and `weft COMMAND --help`, wrapped to the width of the terminal.
//
// Threads: pure but for help_width(), which asks the terminal. Fails: never.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace CLI {
class App;
}  // namespace CLI

namespace weft {

// Columns to write help in: COLUMNS, else the width of the terminal, else 80; from 40 to 100.
std::size_t help_width();

// `text` in lines of at most `width` characters, broken at blanks. A line that continues another is
// indented by `indent` more than the one it continues; line ends in `text` stay.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

// "weft data get": a command with the names of all that it is below.
std::string command_words(const CLI::App& app);
// How pages write an argument: "recipe" is RECIPE.
std::string argument_name(std::string name);

// Gives `app`, and every command added to it from now on, help pages of this width. The footer is
// the last part of a page.
void use_help_pages(CLI::App& app, std::size_t width);

}  // namespace weft
