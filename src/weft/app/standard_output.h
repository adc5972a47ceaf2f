// standard_output: all that the program writes to standard output goes through here, so that what
// could not be written is known at the end.
//
// The first failure is kept, and nothing is written after it: what follows a gap would be read as
// if nothing were missing. A reader that went away (EPIPE, as by `| head`) is no failure of a run,
// which goes on without it; every other command ends with exit code 3, without words.
//
// Threads: any. Fails: never; checked_output() says what went wrong.
#pragma once

#include <string>
#include <string_view>

#include "weft/app/exit_code.h"

namespace weft {

// Gives descriptors 0 to 2, where the caller closed them, to a file that can be neither read nor
// written, so that no file or connection of ours gets one of these numbers and what we print.
// Signals that a failed write would raise are ignored: the write says why it failed.
void guard_standard_streams();

// Writes `text` to standard output at once. False if that failed, now or before.
bool print_text(std::string_view text);

// From here on the command goes on where standard output fails; standard error says so at once,
// with `words` on what goes on and where it can be followed.
void go_on_without_output(std::string words);

// What a command that ended with `code` ends with: standard error says why standard output is not
// complete, and kOk becomes kUnavailable.
ExitCode checked_output(ExitCode code);

}  // namespace weft
