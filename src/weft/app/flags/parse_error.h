// The message for a wrong command line: what was expected, what was typed, and where the help is.
//
// Threads: pure. Fails: never.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace weft {

// LinkRates that begin with "weft: ". `arguments` are those of the process without its name.
std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error,
                             std::span<const std::string> arguments);

}  // namespace weft
