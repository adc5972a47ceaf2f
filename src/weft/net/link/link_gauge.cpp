#include "weft/net/link/link_gauge.h"

#include <algorithm>

namespace weft {

namespace {

// Below that a window of the usual size is no limit that matters.
constexpr double kLongSeconds = 0.02;
constexpr double kBusyShare = 0.2;
constexpr double kLimitedShare = 0.5;
constexpr int kLimitedTurns = 2;
// The system grows the windows of new connections over some round trips.
constexpr int kSettlingTurns = 2;
constexpr int kJudgingTurns = 2;
constexpr double kGain = 1.15;

}  // namespace

double LinkGauge::rate(const LinkSample& from, const LinkSample& to) {
  const double busy = (to.busy_seconds - from.busy_seconds) / static_cast<double>(to.connections);
  return busy <= 0 ? 0
                   : static_cast<double>(to.bytes_acknowledged - from.bytes_acknowledged) / busy;
}

bool LinkGauge::limited_until(const LinkSample& sample) const {
  const double busy = sample.busy_seconds - last_.busy_seconds;
  const double limited = sample.window_limited_seconds - last_.window_limited_seconds;
  const double passed = std::chrono::duration<double>(sample.now - last_.now).count() *
                        static_cast<double>(sample.connections);
  return sample.rtt_seconds >= kLongSeconds && busy >= kBusyShare * passed &&
         limited >= kLimitedShare * busy;
}

std::size_t LinkGauge::wanted(const LinkSample& sample, std::size_t connections_max) {
  const LinkSample before = last_;
  const bool compares = begun_ && sample.connections == before.connections;
  const bool limited = compares && limited_until(sample);
  last_ = sample;
  begun_ = true;
  if (done_ || !compares) return sample.connections;
  if (settling_turns_ > 0) {
    --settling_turns_;
    if (settling_turns_ == kJudgingTurns) settled_ = sample;
    if (settling_turns_ > 0) return sample.connections;
    done_ = rate(settled_, sample) < kGain * rate_before_;
    limited_turns_ = 0;
    return sample.connections;
  }
  limited_turns_ = limited ? limited_turns_ + 1 : 0;
  if (limited_turns_ < kLimitedTurns) return sample.connections;
  const std::size_t more = std::min(2 * sample.connections, connections_max);
  if (more <= sample.connections) return sample.connections;
  rate_before_ = rate(before, sample);
  settling_turns_ = kSettlingTurns + kJudgingTurns;
  return more;
}

}  // namespace weft
