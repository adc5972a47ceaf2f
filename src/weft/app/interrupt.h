// Ctrl-C and SIGTERM: the first asks for a polite end, the second ends the process at once; while
// nothing is there to take leave of, the first does.
//
// Threads: any; the handler only counts, and on the second signal leaves with _exit.
#pragma once

namespace weft {

// Also ignores SIGPIPE: a closed pipe or connection shows as an error of the write.
void install_interrupt_handler();
// From now on the first signal ends the process at once, or asks for a polite end again.
void end_at_once_if_interrupted(bool at_once);
// Whether a person has asked for the end.
bool interrupted();

}  // namespace weft
