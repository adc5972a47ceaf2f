// printable: foreign text for a terminal, without anything that controls the terminal.
//
// Names of runs, files, classes and peers come from other people. A control character in one could
// move the cursor, set the window's title or reverse the rest of the line, so it is shown as an
// escape instead: "\x1b", "\u202e", and "\xff" for bytes that are not UTF-8. It escapes C0, DEL and
// C1 controls, line and paragraph separators, the marks that change the direction of text, and
// characters without width except the joiners.
//
// Threads: pure functions. Fails: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// One line: line ends and tabs are escaped too ("\n", "\t").
std::string printable(std::string_view text);
// The first `characters_max` characters, and "..." where there are more.
std::string printable(std::string_view text, std::size_t characters_max);
// A message or page of several lines: line ends and tabs stay.
std::string printable_lines(std::string_view text);
// "1 member", "2 members".
std::string counted(std::int64_t count, std::string_view thing);
// Whether printable() would leave `text` as it is: valid UTF-8 without such characters.
bool is_printable_text(std::string_view text);

}  // namespace weft
