#include "weft/app/terminal/slow_notice.h"

#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/interrupt.h"
#include "weft/app/terminal/status_block.h"
#include "weft/base/log.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

constexpr const char* kErasedLine = "\r\x1b[K";

// Not in the order of write_error(): the line must be gone before the answer is printed.
void draw_on_terminal(const std::string& text) {
  struct pollfd terminal = {STDERR_FILENO, POLLOUT, 0};
  if (::poll(&terminal, 1, 0) != 1 || (terminal.revents & POLLOUT) == 0) return;
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

SlowNotice::Manner manner_of_standard_error() {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const std::string kind = environment_variable("TERM");
  if (::isatty(STDERR_FILENO) != 1 || kind.empty() || kind == "dumb") {
    return {[](const std::string& text) { write_error(text); }, seconds(3), Duration::zero(), 0};
  }
  struct winsize size = {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20;
  return {draw_on_terminal, milliseconds(500), milliseconds(500), known ? size.ws_col - 1U : 79U};
}

}  // namespace

SlowNotice::SlowNotice(const std::string& words) : SlowNotice(words, manner_of_standard_error()) {}

SlowNotice::SlowNotice(const std::string& words, Manner manner) : words_(printable(words)) {
  thread_ = Thread([this, manner = std::move(manner)] { run(manner); });
}

SlowNotice::~SlowNotice() {
  state_.with([](State& state) { state.ended = true; });
}

void SlowNotice::progress(double done, double all) {
  progress(done, all, std::numeric_limits<double>::quiet_NaN());
}

void SlowNotice::progress(double done, double all, double seconds_left) {
  state_.with([&](State& state) {
    state.part = all > 0 ? done / all : -1;
    state.seconds_left = seconds_left;
  });
}

void SlowNotice::run(const Manner& manner) {
  const SystemClock clock;
  const TimePoint begun = clock.now();
  TimePoint due = begun + manner.first;
  bool stands = false;
  const auto is_over = [](const State& state) { return state.ended; };
  while (!state_.wait_until(due, is_over)) {
    const std::string spent = state_.with([&](const State& state) {
      const double seconds = to_seconds(clock.now() - begun);
      return fmt::format(" ({:.0f} s{}{})", seconds,
                         state.part < 0 ? "" : fmt::format(", {:.0f} %", 100.0 * state.part),
                         std::isfinite(state.seconds_left)
                             ? ", " + duration_text(state.seconds_left) + " left"
                             : std::string());
    });
    if (manner.width > 0) {
      stands = true;
      words_stand_on_line(true);
      manner.say(kErasedLine + clipped("weft: " + words_, manner.width - spent.size()) + spent);
    } else {
      manner.say("weft: " + words_ + spent + "\n");
    }
    due = manner.later > Duration::zero() ? clock.now() + manner.later : TimePoint::max();
  }
  if (!stands) return;
  manner.say(kErasedLine);
  words_stand_on_line(false);
}

}  // namespace weft
