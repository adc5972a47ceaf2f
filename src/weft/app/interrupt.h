// Ctrl-C and SIGTERM: the first asks for a polite end, the second ends the process at once; while
// nothing is there to take leave of, the first does. Either is answered in words on standard error
// by the handler itself, whatever the process is busy with.
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

// While a line without an end stands on standard error: the words begin on a new one.
void words_stand_on_line(bool stand);

// Passes the wish for a polite end on to `child`, a weft process of ours, until
// stop_forwarding_to(child). What is passed on is SIGUSR1, which asks politely however often it
// comes: Ctrl-C in a terminal reaches the child by itself, and two signals would end it at once.
void forward_interrupts_to(pid_t child);
void stop_forwarding_to(pid_t child);

// For a child: it asks this process for a polite end when the parent, of process id `parent`, ends,
// by whatever means. False: the parent has ended already.
bool end_with_parent(pid_t parent);

}  // namespace weft
