// ChildProcess: this program started once more, whose events are read line by line.
//
// Where it stands: `weft run --peers N` and `weft demo` start their local peers with it.
// Threads: one owner; start() on the main thread, since the child leaves the run when the thread
// that started it ends (WEFT_PARENT contains this process's id).
// Fails: start() with kUnavailable. The destructor kills what still runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/train/event/event.h"

namespace weft {

struct ChildOptions {
  std::vector<std::string> arguments;  // without the program's name
  std::string errors_path;             // standard error goes there, appended
  bool read_events = true;             // false: its standard output goes nowhere
  // Handed over as WEFT_TICKET: arguments can be read by every user of the machine.
  std::string ticket;
};

class ChildProcess {
 public:
  static Result<ChildProcess> start(const ChildOptions& options);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t pid() const { return pid_; }
  // To wait on for something to read; -1 once the child has closed it.
  int output() const { return output_; }
  // The events that have arrived; does not wait. LinkRates that are no events are left out.
  std::vector<Event> take_events();
  // True once the process has ended; then exit_code() is set, 128 + the signal if one ended it.
  bool has_ended();
  const std::optional<int>& exit_code() const { return exit_code_; }
  void signal(int number) const;

 private:
  ChildProcess(pid_t pid, int output) : pid_(pid), output_(output) {}

  pid_t pid_ = -1;
  int output_ = -1;
  std::string unread_;
  std::optional<int> exit_code_;
};

// Waits until one of the children has output or `limit` has passed.
void wait_for_output(const std::vector<ChildProcess*>& children, Duration limit);

}  // namespace weft
