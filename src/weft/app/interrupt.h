// Ctrl-C and SIGTERM: the first asks for a polite end, the second ends the process at once.
//
// Threads: any; the handler only counts, and on the second signal leaves with _exit.
#pragma once

namespace weft {

// Also ignores SIGPIPE: a closed pipe or connection shows as an error of the write.
void install_interrupt_handler();
// Whether a person has asked for the end.
bool interrupted();

}  // namespace weft
