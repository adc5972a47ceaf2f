#include "weft/train/step/round_vector.h"

#include <algorithm>
#include <utility>

namespace weft {

RoundVector::RoundVector(ParameterArena& arena, RoundExchange& exchange, bool whole)
    : arena_(arena),
      exchange_(exchange),
      whole_(whole),
      gradient_elements_(arena.layout().num_elements()),
      contributed_(static_cast<std::size_t>(arena.size())) {}

Status RoundVector::begin() {
  std::fill(contributed_.begin(), contributed_.end(), false);
  return exchange_.begin(elements());
}

void RoundVector::add(ParameterId id) { contribute(id.value()); }

void RoundVector::contribute(int index) {
  // Up to the next parameter: the gap between the two holds zeros and belongs to the vector.
  const Layout& layout = arena_.layout();
  const std::int64_t begin = layout[index].offset;
  const std::int64_t end =
      index + 1 < layout.size() ? layout[index + 1].offset : gradient_elements_;
  contributed_[static_cast<std::size_t>(index)] = true;
  if (whole_) return;
  exchange_.contribute(begin, arena_.gradients().subspan(static_cast<std::size_t>(begin),
                                                         static_cast<std::size_t>(end - begin)));
}

std::span<const float> RoundVector::complete() {
  for (int index = arena_.size() - 1; index >= 0; --index) {
    if (contributed_[static_cast<std::size_t>(index)]) continue;
    arena_.gradient(index).fill(0.0);
    contribute(index);
  }
  return std::as_const(arena_).gradients();
}

Status RoundVector::add_rest(const RoundReport& own) {
  complete();
  return exchange_.report(own.encode());
}

Status RoundVector::add_whole(std::span<const float> gradients, const RoundReport& own) {
  exchange_.contribute(0, gradients);
  return exchange_.report(own.encode());
}

Result<RoundResult> RoundVector::finish() { return exchange_.finish(); }

}  // namespace weft
