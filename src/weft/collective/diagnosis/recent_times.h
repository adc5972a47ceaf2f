// RecentTimes: the medians of the last rounds' times, one for each member.
//
// Where it stands: the rounds of a member and of its training -> here -> their status and events.
// Threads: one owner; no clock. Fails: never.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace weft {

class RecentTimes {
 public:
  // A round's times in seconds, by member; negative: not known. A round of another number of
  // members begins anew.
  void add(std::vector<double> seconds);
  void clear() { rounds_.clear(); }
  std::size_t rounds() const { return rounds_.size(); }
  // By member, over the rounds in which it is known; -1: in none. Empty before the first round.
  std::vector<double> medians() const;

 private:
  static constexpr std::size_t kRoundsMax = 16;

  std::deque<std::vector<double>> rounds_;
};

}  // namespace weft
