#include "weft/collective/round/round_times.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace weft {

static constexpr Duration kLimitMin = std::chrono::minutes(1);
static constexpr int kMedians = 10;

void RoundTimes::add(std::int64_t elements, Duration took) {
  if (!last_.contains(elements) && last_.size() >= kLengthsMax) last_.erase(last_.begin());
  std::deque<Duration>& last = last_[elements];
  last.push_back(took);
  if (last.size() > kRoundsMax) last.pop_front();
}

Duration RoundTimes::limit(std::int64_t elements) const {
  if (fixed_ > Duration::zero()) return fixed_;
  const auto found = last_.find(elements);
  if (found == last_.end() || found->second.size() < kRoundsMin) return unmeasured_;
  std::vector<Duration> sorted(found->second.begin(), found->second.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return std::max(kLimitMin, kMedians * *middle);
}

}  // namespace weft
