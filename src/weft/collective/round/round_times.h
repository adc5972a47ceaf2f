// RoundTimes: how long rounds take, and how long the others wait for a member that still computes.
//
// Each member measures for itself, from its own beginning of a round to the round's end, which is
// as long as the slowest member's; so all get about the same limit. Rounds are distinguished by the
// length of their vector: an evaluation takes another time than a step.
// Threads: a value of SwarmCore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "weft/base/time.h"

namespace weft {

class RoundTimes {
 public:
  // `fixed`: the limit, whatever is measured; zero: 10 times the median of the last rounds, at
  // least a minute, and `unmeasured` where there were less than three.
  RoundTimes(Duration fixed, Duration unmeasured) : fixed_(fixed), unmeasured_(unmeasured) {}

  void add(std::int64_t elements, Duration took);
  // How long a round with this many elements may take.
  Duration limit(std::int64_t elements) const;

 private:
  static constexpr std::size_t kRoundsMax = 15;
  static constexpr std::size_t kRoundsMin = 3;
  static constexpr std::size_t kLengthsMax = 4;

  Duration fixed_;
  Duration unmeasured_;
  std::map<std::int64_t, std::deque<Duration>> last_;
};

}  // namespace weft
