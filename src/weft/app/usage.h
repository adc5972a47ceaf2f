// What the command line says about itself: the texts below each help page, and what a misspelt
// command or flag probably meant.
//
// Threads: pure.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace weft {

// What `weft` alone says: two examples, and where the rest is.
std::string short_help();

// The foot of `weft --help`, and of the page of the command `words` ("bench train"); "" for what
// is no command.
std::string main_footer();
std::string command_footer(const std::string& words);

// A line for the first word of `arguments` (without the program's name) that is no command of
// `app`, or the first flag that the command does not have: what it is, and the nearest known one.
// "" where there is none.
std::string misspelt(const CLI::App& app, std::span<const std::string> arguments);

}  // namespace weft
