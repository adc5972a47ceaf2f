// IMPLEMENTATION: the smoothing is that of Jacobson, "Congestion avoidance and control", SIGCOMM
// 1988, appendix A (gains 1/8 and 1/4), used for heartbeat gaps instead of round trips.
#include "weft/peer/failure_detector.h"

#include <algorithm>

namespace weft {
namespace {

// (1 - 1 / 500)^350 is about a half.
constexpr int kFading = 500;

}  // namespace

FailureDetector::FailureDetector(Duration interval, Duration cap, TimePoint now)
    : interval_(interval),
      cap_(cap),
      seen_at_(now),
      beat_(now),
      mean_(interval),
      deviation_(interval / 2) {}

void FailureDetector::on_heartbeat(TimePoint now) {
  if (beating_) {
    const Duration gap = now - beat_;
    const Duration error = gap - mean_;
    mean_ += error / 8;
    deviation_ += (std::max(error, -error) - deviation_) / 4;
    longest_ = std::max(gap, longest_ - longest_ / kFading);
  }
  beating_ = true;
  beat_ = now;
  seen_at_ = std::max(seen_at_, now);
}

void FailureDetector::on_sign_of_life(TimePoint now) { seen_at_ = std::max(seen_at_, now); }

void FailureDetector::forgive(TimePoint now) {
  seen_at_ = std::max(seen_at_, now);
  beating_ = false;
}

Duration FailureDetector::timeout() const {
  const Duration paused = longest_ + longest_ / 4;
  return std::min(std::max({mean_ + 4 * deviation_, 4 * interval_, paused}), cap_);
}

}  // namespace weft
