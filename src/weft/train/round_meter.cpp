#include "weft/train/round_meter.h"

#include <algorithm>

namespace weft {

void RoundMeter::add(const RoundTiming& timing) {
  recent_.push_back(timing);
  if (recent_.size() > kRecentMax) recent_.pop_front();
  seconds_ += timing.seconds;
  samples_ += timing.samples;
}

double RoundMeter::samples_per_second() const {
  double seconds = 0;
  std::int64_t samples = 0;
  for (const RoundTiming& timing : recent_) {
    seconds += timing.seconds;
    samples += timing.samples;
  }
  return seconds > 0 ? static_cast<double>(samples) / seconds : 0.0;
}

double RoundMeter::seconds_per_round() const {
  double seconds = 0;
  for (const RoundTiming& timing : recent_) seconds += timing.seconds;
  return recent_.empty() ? 0.0 : seconds / static_cast<double>(recent_.size());
}

RoundShares RoundMeter::shares() const {
  double seconds = 0;
  RoundShares spent;
  for (const RoundTiming& timing : recent_) {
    const double wait =
        std::clamp(timing.slowest_seconds - timing.compute_seconds, 0.0, timing.exchange_seconds);
    seconds += timing.seconds;
    spent.compute += timing.compute_seconds;
    spent.wait += wait;
    spent.send += timing.exchange_seconds - wait;
  }
  if (seconds <= 0) return {};
  return {std::min(1.0, spent.compute / seconds), std::min(1.0, spent.wait / seconds),
          std::min(1.0, spent.send / seconds)};
}

double RoundMeter::mean_samples_per_second() const {
  return seconds_ > 0 ? static_cast<double>(samples_) / seconds_ : 0.0;
}

}  // namespace weft
