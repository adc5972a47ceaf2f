// ended_process(): the number of a process that has ended. For tests.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace weft {

inline pid_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

}  // namespace weft
