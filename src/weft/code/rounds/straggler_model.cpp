#include "weft/code/rounds/straggler_model.h"

#include <algorithm>

namespace weft {

bool StragglerHistory::admits(const std::vector<bool>& late) const {
  std::size_t distinct = 0;
  for (std::size_t worker = 0; worker < late.size(); ++worker) {
    // Rounds from the first one in which it straggled to the last one, both included.
    std::size_t span = 0;
    const std::size_t rounds = rounds_.size() + 1;
    std::size_t first = rounds;
    for (std::size_t i = 0; i < rounds; ++i) {
      if (!(i + 1 < rounds ? rounds_[i][worker] : late[worker])) continue;
      first = std::min(first, i);
      span = i - first + 1;
    }
    if (span > model_.burst) return false;
    distinct += span > 0 ? 1 : 0;
  }
  return distinct <= model_.distinct;
}

void StragglerHistory::add(std::vector<bool> late) {
  rounds_.push_back(std::move(late));
  if (rounds_.size() >= model_.window) rounds_.pop_front();
}

}  // namespace weft
