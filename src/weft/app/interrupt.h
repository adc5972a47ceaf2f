// Ctrl-C and SIGTERM: the first asks for a polite end, the second ends the process at once; while
// nothing is there to take leave of, the first does. Either is answered in words on standard error
// by the handler itself, whatever the process is busy with.
//
// Threads: any; the handler only counts and writes, and on the second signal leaves with _exit.
#pragma once

namespace weft {

// The first signal ends the process at once, until end_politely_if_interrupted().
void install_interrupt_handler();
// From now on the first signal ends the process.
void end_at_once_if_interrupted();
// From now on the first signal is answered with "weft: interrupted: `words`", and interrupted() is
// true. `words` must live as long as the process.
void end_politely_if_interrupted(const char* words);
// Whether a person has asked for the end.
bool interrupted();

}  // namespace weft
