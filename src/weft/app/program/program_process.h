// program_process: runs a foreign program to its end, with a deadline.
//
// The program leads a process group of its own, has no standard input, and its standard output and
// errors go to one pipe, of which the last bytes are kept. It is asked to end (SIGTERM) at the
// deadline or when a person interrupts, and killed two seconds later; whatever is left of its group
// is killed when it has ended. If this process dies, the system kills the program.
//
// Where it stands: program_run.h -> here. Threads: the main thread, since the program is killed
// when the thread that started it ends. Fails: kInvalidArgument if there is no such program,
// kUnavailable if the system starts none.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"

namespace weft {

inline constexpr std::size_t kProgramTailBytes = std::size_t{64} << 10;

struct ProgramStart {
  std::vector<std::string> arguments;    // the program first, looked for in PATH
  std::vector<std::string> environment;  // "NAME=value", in place of what this process has
  Duration limit{};
  std::function<bool()> stop_asked;  // looked at a few times a second
};

struct ProgramEnd {
  int exit_code = 0;  // 128 + the signal if one ended it
  bool timed_out = false;
  bool stopped = false;  // because stop_asked() said so
  double seconds = 0;
  std::string tail;  // the last kProgramTailBytes that it has written
};

Result<ProgramEnd> run_program(const ProgramStart& start);

// The last line of `tail` that is not empty, "" if there is none.
std::string last_line(const std::string& tail);

}  // namespace weft
