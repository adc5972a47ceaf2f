#include "weft/app/terminal/interrupt.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include <sys/prctl.h>
#include <unistd.h>

#include "weft/app/terminal/exit_code.h"
#include "weft/base/temporary_file.h"
#include "weft/base/thread.h"

namespace weft {
namespace {

// A signal handler can reach nothing else. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
volatile std::sig_atomic_t asked = 0;
// What the first signal is answered with; null: the process ends.
// NOLINTNEXTLINE(*-avoid-non-const-global-variables)
Atomic<const char*> polite_words = nullptr;
static_assert(Atomic<const char*>::is_always_lock_free);

// Whether the terminal's last line has no end. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
Atomic<bool> open_line = false;
static_assert(Atomic<bool>::is_always_lock_free);

void write_words(const char* words) {
  static_cast<void>(!::write(STDERR_FILENO, words, std::strlen(words)));
}

// NOLINTNEXTLINE(*-avoid-non-const-global-variables)
volatile std::sig_atomic_t asked_by_signal = 0;
constexpr std::size_t kChildrenMax = 64;
// 0: a free place. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
volatile std::sig_atomic_t signalled[kChildrenMax] = {};

extern "C" void on_interrupt(int number) {
  const char* const words = polite_words;
  const int error = errno;
  for (const std::sig_atomic_t child : signalled) {
    if (child > 0) ::kill(child, SIGUSR1);
  }
  const bool counts = number != SIGUSR1;
  if (open_line.exchange(false)) write_words("\n");
  if ((counts && asked_by_signal != 0) || words == nullptr) {
    write_words("weft: interrupted\n");
    remove_temporaries_at_once();
    ::_exit(static_cast<int>(ExitCode::kInterrupted));
  }
  if (counts) asked_by_signal = 1;
  if (asked == 0) {
    write_words("weft: interrupted: ");
    write_words(words);
    write_words("\n");
  }
  asked = 1;
  errno = error;
}

void replace_child(std::sig_atomic_t from, std::sig_atomic_t to) {
  for (volatile std::sig_atomic_t& child : signalled) {
    if (child != from) continue;
    child = to;
    return;
  }
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
}

void end_at_once_if_interrupted() { polite_words = nullptr; }

void end_politely_if_interrupted(const char* words) { polite_words = words; }

void words_stand_on_line(bool stand) { open_line = stand; }

bool interrupted() { return asked != 0; }

void forward_interrupts_to(pid_t child) { replace_child(0, child); }

void stop_forwarding_to(pid_t child) { replace_child(child, 0); }

bool end_with_parent(pid_t parent) {
  // It comes when the parent's thread that started this process ends, which is its main thread, and
  // again for each thread of a dying parent that inherits this process: it must not be counted.
  ::prctl(PR_SET_PDEATHSIG, SIGUSR1);
  return ::getppid() == parent;
}

}  // namespace weft
