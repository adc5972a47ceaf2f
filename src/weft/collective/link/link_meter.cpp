#include "weft/collective/link/link_meter.h"

#include <algorithm>

namespace weft {

static constexpr std::size_t kBurstsKept = 3;
// Shorter times measure this machine rather than the link.
static constexpr Duration kBurstLeast = std::chrono::microseconds(100);
// Long against the pauses of a busy machine, after which much arrives at once.
static constexpr Duration kWindow = std::chrono::milliseconds(250);
static constexpr Duration kMinute = std::chrono::seconds(60);

static double rate(std::size_t bytes, Duration took) {
  return std::min(kLinkRateMax, static_cast<double>(bytes) / to_seconds(took));
}

void LinkMeter::on_traffic(std::size_t bytes, TimePoint now) {
  if (window_began_ == TimePoint()) {
    window_began_ = minute_began_ = now;
    return;
  }
  window_bytes_ += bytes;
  if (now < window_began_ + kWindow) return;
  if (now >= minute_began_ + kMinute) {
    most_before_ = now >= minute_began_ + 2 * kMinute ? 0 : most_;
    most_ = 0;
    minute_began_ = now;
  }
  most_ = std::max(most_, rate(window_bytes_, now - window_began_));
  window_began_ = now;
  window_bytes_ = 0;
}

void LinkMeter::on_probe(const ProbeHead& head, std::size_t bytes, TimePoint now) {
  if (head.index == 0) burst_ = {head.sequence, 0, {}, 0};
  if (head.sequence != burst_.sequence || head.index != burst_.next) {
    burst_.next = UINT8_MAX;
    return;
  }
  ++burst_.next;
  const int half = head.count / 2;
  if (head.index + 1 == half) burst_.middle = now;
  if (head.index >= half) burst_.bytes += bytes;
  if (head.index + 1 != head.count) return;
  if (bursts_.size() == kBurstsKept) bursts_.erase(bursts_.begin());
  bursts_.push_back(rate(burst_.bytes, std::max(kBurstLeast, now - burst_.middle)));
}

double LinkMeter::bytes_per_s() const {
  if (bursts_.empty()) return 0;
  std::vector<double> sorted = bursts_;
  std::sort(sorted.begin(), sorted.end());
  return std::max({sorted[sorted.size() / 2], most_, most_before_});
}

}  // namespace weft
