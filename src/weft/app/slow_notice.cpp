#include "weft/app/slow_notice.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "weft/base/log.h"

namespace weft {

SlowNotice::SlowNotice(std::string words, Say say, Duration first, Duration later)
    : words_(std::move(words)) {
  if (!say) say = [](std::string line) { write_error(std::move(line)); };
  thread_ = Thread([this, say = std::move(say), first, later] { run(say, first, later); });
}

SlowNotice::~SlowNotice() {
  state_.with([](State& state) { state.ended = true; });
}

void SlowNotice::progress(double done, double all) {
  state_.with([&](State& state) { state.part = all > 0 ? done / all : -1; });
}

void SlowNotice::run(const Say& say, Duration first, Duration later) {
  const SystemClock clock;
  const TimePoint begun = clock.now();
  TimePoint due = begun + first;
  const auto is_over = [](const State& state) { return state.ended; };
  while (!state_.wait_until(due, is_over)) {
    const double part = state_.with([](const State& state) { return state.part; });
    const double seconds = to_seconds(clock.now() - begun);
    say(fmt::format("weft: {} ({:.0f} s{})\n", words_, seconds,
                    part < 0 ? "" : fmt::format(", {:.0f} %", 100.0 * part)));
    due = clock.now() + later;
  }
}

}  // namespace weft
