// The end of `weft run` and `weft join`: the messages about it, the files that could not be
// written, the exit code.
//
// Where it stands: peer_command -> here, once the run loop has returned. Threads: the main thread.
// Fails: never; each incomplete file is named on standard error.
#pragma once

#include "weft/app/folder/out_folder.h"
#include "weft/app/terminal/exit_code.h"
#include "weft/app/terminal/terminal.h"
#include "weft/base/status.h"
#include "weft/train/event/event_log.h"
#include "weft/train/event/tensorboard_events.h"
#include "weft/train/run/run_loop.h"

namespace weft {

// The files that a run writes. Borrows everything.
struct RunFiles {
  const OutFolder& out;
  EventLog& log;
  TensorboardEvents* tensorboard;  // or null
  Terminal& terminal;
};

// Two or three lines for people: how it ended, and where its files are.
void say_summary(Terminal& terminal, const Summary& summary, const OutFolder& out);

// Closes the files, reports failures on standard error, and returns the exit code. `written`:
// whether summary.json was written.
ExitCode end_of_run(const RunResult& result, const Status& written, const RunFiles& files);

}  // namespace weft
