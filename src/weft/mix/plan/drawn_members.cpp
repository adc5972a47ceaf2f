#include "weft/mix/plan/drawn_members.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/base/rng.h"

namespace weft {

std::vector<std::uint32_t> drawn_order(const MixPlanInput& input, std::uint64_t version) {
  std::vector<std::uint32_t> all(input.members);
  std::iota(all.begin(), all.end(), 0U);
  Rng rng(input.seed, version);
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[rng.below(i)]);
  return all;
}

std::vector<std::uint32_t> drawn_alive(const MixPlanInput& input, std::uint64_t version) {
  std::vector<std::uint32_t> all = drawn_order(input, version);
  const std::uint32_t first = all.front();
  std::erase_if(all, [&](std::uint32_t member) { return !(*input.alive)[member]; });
  if (all.empty()) all.push_back(first);
  return all;
}

std::uint32_t share_of_members(double share, std::uint32_t members) {
  const double count = std::round(share * static_cast<double>(members));
  return std::clamp(static_cast<std::uint32_t>(count), 1U, members);
}

}  // namespace weft
