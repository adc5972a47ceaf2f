#include "weft/app/interrupt.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <unistd.h>

#include "weft/app/exit_code.h"
#include "weft/base/thread.h"

namespace weft {
namespace {

// A signal handler can reach nothing else. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
volatile std::sig_atomic_t asked = 0;
// What the first signal is answered with; null: the process ends.
// NOLINTNEXTLINE(*-avoid-non-const-global-variables)
Atomic<const char*> polite_words = nullptr;
static_assert(Atomic<const char*>::is_always_lock_free);

void write_words(const char* words) {
  static_cast<void>(!::write(STDERR_FILENO, words, std::strlen(words)));
}

extern "C" void on_interrupt(int /*signal*/) {
  const char* const words = polite_words;
  const int error = errno;
  if (asked != 0 || words == nullptr) {
    write_words("weft: interrupted\n");
    ::_exit(static_cast<int>(ExitCode::kInterrupted));
  }
  asked = 1;
  write_words("weft: interrupted: ");
  write_words(words);
  write_words("\n");
  errno = error;
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void end_at_once_if_interrupted() { polite_words = nullptr; }

void end_politely_if_interrupted(const char* words) { polite_words = words; }

bool interrupted() { return asked != 0; }

}  // namespace weft
