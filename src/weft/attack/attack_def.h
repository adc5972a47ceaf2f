// What a file NAME_attack.cpp defines: one attack.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "weft/attack/attack.h"
#include "weft/base/option.h"

namespace weft {

struct AttackDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  std::span<const Option> options = {};
  // It reads what it has written into the memory. The others leave all of it alone.
  bool remembers = false;
  // As Attack::forge(), which counts the rounds; `options` in their order.
  void (*forge)(const AttackView& view, std::span<const double> options, AttackMemory& memory,
                std::span<float> out);
};

// The mean of the honest members' values of one coordinate.
inline double honest_mean(const AttackView& view, std::size_t at) {
  double sum = 0;
  for (const std::span<const float> vector : view.honest) sum += static_cast<double>(vector[at]);
  return sum / static_cast<double>(view.honest.size());
}

}  // namespace weft
