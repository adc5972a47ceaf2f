// The command line: reads flags, calls one command.
//
// Threads: the main thread. Fails: the reason goes to standard error, the code is exit_code.h's.
#pragma once

namespace weft {

// Returns the exit code of the program `weft` with these arguments, as main() gets them.
int run_command_line(int argc, char** argv);

}  // namespace weft
