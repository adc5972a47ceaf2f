// Texts of the command line: the end of each help page, and suggestions for misspelt commands and
// flags.
//
// Threads: pure.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace weft {

// The output of `weft` without arguments: two examples, and where to find the rest.
std::string short_help();

// The foot of `weft --help`, and of the page of the command `words` ("bench train"); "" if `words`
// is not a command.
std::string main_footer();
std::string command_footer(const std::string& words);

// A line for the first word of `arguments` (without the program's name) that is not a command of
// `app`, or for the first unknown flag: the word, and the nearest known one. "" if there is none.
std::string misspelt(const CLI::App& app, std::span<const std::string> arguments);

}  // namespace weft
