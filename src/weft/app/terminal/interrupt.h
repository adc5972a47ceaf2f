// Ctrl-C and SIGTERM: the first asks the process to finish its work and leave, the second ends it
// at once; before the peer takes part in a run, the first one does. The handler itself confirms
// each signal on standard error, even if the process is busy.
//
// Threads: any; the handler only counts, writes and passes on, and on the second signal leaves with
// _exit.
#pragma once

#include <sys/types.h>

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

// Set while standard error shows a line without an end: the confirmation then begins on a new one.
void words_stand_on_line(bool stand);

// Passes the request to leave on to `child`, a weft process of ours, until
// stop_forwarding_to(child). It sends SIGUSR1, which never ends a process at once, however often it
// arrives: Ctrl-C in a terminal also reaches the child directly, and two such signals would end it
// at once.
void forward_interrupts_to(pid_t child);
void stop_forwarding_to(pid_t child);

// For a child: it asks this process to leave when the parent, with process id `parent`, ends for
// any reason. False if the parent has ended already.
bool end_with_parent(pid_t parent);

}  // namespace weft
