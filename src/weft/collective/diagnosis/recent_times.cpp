#include "weft/collective/diagnosis/recent_times.h"

#include <utility>

#include "weft/collective/diagnosis/link_times.h"

namespace weft {

void RecentTimes::add(std::vector<double> seconds) {
  if (!rounds_.empty() && rounds_.back().size() != seconds.size()) clear();
  rounds_.push_back(std::move(seconds));
  if (rounds_.size() > kRoundsMax) rounds_.pop_front();
}

std::vector<double> RecentTimes::medians() const {
  std::vector<double> out;
  if (rounds_.empty()) return out;
  for (std::size_t member = 0; member < rounds_.back().size(); ++member) {
    std::vector<double> known;
    for (const std::vector<double>& round : rounds_) {
      if (round[member] >= 0) known.push_back(round[member]);
    }
    out.push_back(known.empty() ? -1.0 : lower_median(std::move(known)));
  }
  return out;
}

}  // namespace weft
