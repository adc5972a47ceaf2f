#include "weft/app/interrupt.h"

#include <csignal>

#include <unistd.h>

#include "weft/app/exit_code.h"

namespace weft {
namespace {

// A signal handler can reach nothing else. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
volatile std::sig_atomic_t asked = 0;
// NOLINTNEXTLINE(*-avoid-non-const-global-variables)
volatile std::sig_atomic_t impolite = 0;

extern "C" void on_interrupt(int /*signal*/) {
  if (asked != 0 || impolite != 0) {
    constexpr char kWords[] = "weft: interrupted\n";
    static_cast<void>(!::write(STDERR_FILENO, kWords, sizeof kWords - 1));
    ::_exit(static_cast<int>(ExitCode::kInterrupted));
  }
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

void end_at_once_if_interrupted(bool at_once) { impolite = at_once ? 1 : 0; }

bool interrupted() { return asked != 0; }

}  // namespace weft
