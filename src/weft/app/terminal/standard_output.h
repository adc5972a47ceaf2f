// standard_output: all output of the program to standard output goes through here, so that failures
// to write are known at the end.
//
// The first failure is kept, and nothing is written after it: a reader would not notice the gap. A
// closed pipe (EPIPE, as by `| head`) is not a failure of a run, which goes on without it; every
// other command ends with exit code 3, without a message.
//
// Threads: any. Fails: never; checked_output() reports failures.
#pragma once

#include <string>
#include <string_view>

#include "weft/app/terminal/exit_code.h"

namespace weft {

// If the caller closed descriptors 0 to 2, opens them on a file that can be neither read nor
// written, so that no file or connection of ours gets one of these numbers and receives our output.
// Signals of failed writes are ignored: the write returns the reason.
void guard_standard_streams();

// Writes `text` to standard output at once. False if that failed, now or before.
bool print_text(std::string_view text);

// From here on the command goes on if standard output fails; it reports that at once on standard
// error, with `words` that name what goes on and where it can be followed.
void go_on_without_output(std::string words);

// The final exit code of a command that ended with `code`: if standard output is incomplete,
// standard error gets the reason, and kOk becomes kUnavailable.
ExitCode checked_output(ExitCode code);

}  // namespace weft
