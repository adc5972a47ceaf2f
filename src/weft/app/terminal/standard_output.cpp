#include "weft/app/terminal/standard_output.h"

#include <cerrno>
#include <csignal>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "weft/base/background_writer.h"
#include "weft/base/log.h"
#include "weft/base/thread.h"

namespace weft {
namespace {

struct OutputFate {
  Atomic<int> error = 0;  // errno of the first failure
  Atomic<bool> told = false;
  Guarded<std::string> goes_on;  // in words; empty: nothing does
};

// The process has one standard output.
// It is never destroyed: a thread may write until the very end.
OutputFate& fate() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static OutputFate* const one = std::make_unique<OutputFate>().release();
  return *one;
}

std::string failure_words(int error) {
  return "weft: standard output: " + std::generic_category().message(error);
}

void tell_at_once(int error) {
  const std::string goes_on = fate().goes_on.with([](const std::string& words) { return words; });
  if (goes_on.empty() || fate().told.exchange(true)) return;
  write_error(fmt::format("{}; {}\n", failure_words(error), goes_on));
}

}  // namespace

void guard_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number, which is this one. Reading gives the end, writing EBADF.
    static_cast<void>(::open("/dev/null", O_RDONLY));
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

bool print_text(std::string_view text) {
  if (fate().error != 0) return false;
  const int error = write_fully(STDOUT_FILENO, text);
  if (error == 0) return true;
  int none = 0;
  if (fate().error.compare_exchange_strong(none, error)) tell_at_once(error);
  return false;
}

void go_on_without_output(std::string words) {
  fate().goes_on.with([&](std::string& kept) { kept = std::move(words); });
  if (const int error = fate().error; error != 0) tell_at_once(error);
}

ExitCode checked_output(ExitCode code) {
  const int error = fate().error;
  if (error == 0) return code;
  const bool reader_left = error == EPIPE;
  const bool goes_on = fate().goes_on.with([](const std::string& words) { return !words.empty(); });
  if (reader_left && goes_on) return code;
  if (!reader_left && !fate().told.exchange(true)) write_error(failure_words(error) + "\n");
  return code == ExitCode::kOk ? ExitCode::kUnavailable : code;
}

}  // namespace weft
