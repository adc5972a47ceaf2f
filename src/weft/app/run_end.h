// The end of `weft run` and `weft join`: what is said of it, what was not written, the exit code.
//
// Where it stands: peer_command -> here, once the run loop has returned. Threads: the main thread.
// Fails: never; each file that is not whole is named on standard error.
#pragma once

#include "weft/app/exit_code.h"
#include "weft/app/out_folder.h"
#include "weft/app/terminal.h"
#include "weft/train/event_log.h"
#include "weft/train/run_loop.h"
#include "weft/train/tensorboard_events.h"

namespace weft {

// What a run writes. Borrows everything.
struct RunFiles {
  const OutFolder& out;
  EventLog& log;
  TensorboardEvents* tensorboard;  // or null
  Terminal& terminal;
};

// Two or three lines for people: how it ended, and where its files are.
void say_summary(Terminal& terminal, const Summary& summary, const OutFolder& out);

// Closes the files, says on standard error what went wrong, and gives the exit code. `written`:
// whether summary.json was.
ExitCode end_of_run(const RunResult& result, const Status& written, const RunFiles& files);

}  // namespace weft
