#include "weft/app/interrupt.h"

#include <csignal>

#include <unistd.h>

#include "weft/app/exit_code.h"

namespace weft {
namespace {

// A signal handler can reach nothing else. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
volatile std::sig_atomic_t asked = 0;

extern "C" void on_interrupt(int /*signal*/) {
  if (asked != 0) ::_exit(static_cast<int>(ExitCode::kInterrupted));
  asked = 1;
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return asked != 0; }

}  // namespace weft
