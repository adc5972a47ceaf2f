// Exit codes: stable, for scripts; `weft --help` and docs/commands.md list them.
#pragma once

#include "weft/base/status.h"

namespace weft {

enum class ExitCode : int {
  kOk = 0,
  kFailure = 1,       // something failed that nothing outside explains
  kUsage = 2,         // a flag, the recipe or the ticket is wrong: fix it
  kUnavailable = 3,   // data, disk, address or group is not there, or an answer or a file could not
                      // be written completely: fix it, try again
  kCorrupt = 4,       // a file is damaged, or this peer's state differed from the others'
  kQuorumLost = 5,    // half of the group or more is gone; the state is in a checkpoint
  kRunOver = 6,       // the run was over before this peer could take its final state
  kNotFinite = 7,     // the loss is not a number: the run stopped, and the model is of no use
  kInterrupted = 130  // Ctrl-C; once: left politely, state saved; twice: left at once
};

// Writes "weft: REASON" to standard error, without what would steer a terminal.
ExitCode report(const Status& status);

inline ExitCode exit_code_of(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return ExitCode::kOk;
    case Code::kInvalidArgument:
      return ExitCode::kUsage;
    case Code::kUnavailable:
    case Code::kTimeout:
      return ExitCode::kUnavailable;
    case Code::kCorrupt:
      return ExitCode::kCorrupt;
    case Code::kAborted:
    case Code::kInternal:
      return ExitCode::kFailure;
  }
  return ExitCode::kFailure;
}

}  // namespace weft
