// Spread: one number for each of many virtual peers, as a person writes it.
//
//   spread := number {"," number}      the peers take them in turn, from the first on again
//           | number ".." number       each peer draws its own, evenly, from the simulation's seed
//
// Threads: values. Fails: parse_spread() with kInvalidArgument, which names the flag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"

namespace weft::sim {

struct SpreadBounds {
  double least = 0;
  double most = 0;
};

struct Spread {
  std::vector<double> values{0};
  bool drawn = false;  // between values[0] and values[1]

  // The value of peer `index`. It is the same for the same seed and `what`, which keeps one flag's
  // draws apart from another's.
  double at(std::size_t index, std::uint64_t seed, std::uint64_t what) const;
};

// `flag` is how messages call it: "--mbit".
Result<Spread> parse_spread(std::string_view flag, const std::string& text, SpreadBounds bounds);

}  // namespace weft::sim
