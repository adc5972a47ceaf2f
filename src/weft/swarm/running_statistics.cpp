#include "weft/swarm/running_statistics.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

template <class Value>
std::span<Value> part_of(std::span<Value> values, const LayoutEntry& entry) {
  return values.subspan(static_cast<std::size_t>(entry.offset),
                        static_cast<std::size_t>(entry.shape.num_elements()));
}

}  // namespace

RunningStatistics::RunningStatistics(ParameterArena& arena) : arena_(arena) {
  const Layout& layout = arena.layout();
  for (int i = 0; i < layout.size(); ++i) {
    if (layout[i].kind != ParameterKind::kBuffer) continue;
    entries_.push_back(i);
    const auto values = part_of(std::as_const(arena).parameters(), layout[i]);
    before_.insert(before_.end(), values.begin(), values.end());
  }
}

void RunningStatistics::hand_over(double weight) {
  const auto factor = static_cast<float>(weight);
  auto before = before_.begin();
  for (const int index : entries_) {
    const LayoutEntry& entry = arena_.layout()[index];
    const std::span<float> values = part_of(arena_.parameters(), entry);
    const std::span<float> out = part_of(arena_.gradients(), entry);
    for (std::size_t i = 0; i < values.size(); ++i, ++before) {
      out[i] = factor * (values[i] - *before);
      values[i] = *before;
    }
  }
}

void RunningStatistics::apply(ParameterArena& arena, std::span<const float> sums, double weight) {
  if (!(weight > 0)) return;
  const auto scale = static_cast<float>(1.0 / weight);
  for (const LayoutEntry& entry : arena.layout().entries()) {
    if (entry.kind != ParameterKind::kBuffer) continue;
    const std::span<const float> changes = part_of(sums, entry);
    const std::span<float> values = part_of(arena.parameters(), entry);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += scale * changes[i];
  }
}

void RunningStatistics::clear(const ParameterArena& arena, std::span<float> gradients) {
  for (const LayoutEntry& entry : arena.layout().entries()) {
    if (entry.kind == ParameterKind::kBuffer) std::ranges::fill(part_of(gradients, entry), 0.0F);
  }
}

}  // namespace weft
