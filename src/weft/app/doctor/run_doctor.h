// `weft doctor --run OUT`: which member or link a run waits for, from the logs of its peers.
//
// A peer that runs is asked for its present wait as well, through its control socket.
//
// Where it stands: command line -> here -> run_log, run_diagnosis. Threads: the main thread.
// Fails: with the exit code of the first log that cannot be used; verdicts are no failure.
#pragma once

#include <string>
#include <vector>

#include "weft/app/terminal/exit_code.h"

namespace weft {

// `folders`: OUT of one or several peers of the same run.
ExitCode run_doctor_command(const std::vector<std::string>& folders, bool json);

}  // namespace weft
