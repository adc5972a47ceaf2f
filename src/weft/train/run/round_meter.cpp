#include "weft/train/run/round_meter.h"

#include <algorithm>
#include <vector>

namespace weft {

void RoundMeter::add(const RoundTiming& timing) {
  recent_.push_back(timing);
  if (recent_.size() > kRecentMax) recent_.pop_front();
  seconds_ += timing.seconds;
  samples_ += timing.samples;
}

RoundMeter::Usual RoundMeter::usual() const {
  if (recent_.empty()) return {};
  std::vector<double> sorted;
  for (const RoundTiming& timing : recent_) sorted.push_back(timing.seconds);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  Usual usual;
  for (const RoundTiming& timing : recent_) {
    if (timing.seconds > kPauseMedians * *middle) continue;
    usual.seconds += timing.seconds;
    usual.samples += timing.samples;
    ++usual.rounds;
  }
  return usual;
}

double RoundMeter::samples_per_second() const {
  const Usual spent = usual();
  return spent.seconds > 0 ? static_cast<double>(spent.samples) / spent.seconds : 0.0;
}

double RoundMeter::seconds_per_round() const {
  const Usual spent = usual();
  return spent.rounds > 0 ? spent.seconds / static_cast<double>(spent.rounds) : 0.0;
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
