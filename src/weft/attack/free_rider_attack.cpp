// zero, stale and drop: what members send that save themselves the work, or a part of it.
#include <algorithm>

#include "weft/attack/attack_def.h"
#include "weft/base/rng.h"

namespace weft {
namespace {

constexpr Option kStaleOptions[] = {
    {.name = "age",
     .fallback = 1,
     .min = 1,
     .max = 1000,
     .whole = true,
     .help = "How many rounds ago it was computed; the first one stands in for earlier ones."},
};
constexpr Option kDropOptions[] = {
    {.name = "ratio",
     .fallback = 0.3,
     .max = 1,
     .help = "The share of coordinates that are zero, drawn anew in each round."},
};

void forge_zero(const AttackView& /*view*/, std::span<const double> /*options*/,
                AttackMemory& /*memory*/, std::span<float> out) {
  std::ranges::fill(out, 0.0F);
}

// AttackMemory has its own updates of as many rounds as the age, oldest first.
void forge_stale(const AttackView& view, std::span<const double> options, AttackMemory& memory,
                 std::span<float> out) {
  memory.vectors.emplace_back(view.own.begin(), view.own.end());
  if (memory.vectors.size() > static_cast<std::size_t>(options[0]) + 1) {
    memory.vectors.erase(memory.vectors.begin());
  }
  std::ranges::copy(memory.vectors.front(), out.begin());
}

void forge_drop(const AttackView& view, std::span<const double> options, AttackMemory& /*memory*/,
                std::span<float> out) {
  Rng rng(view.seed);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = rng.uniform() < options[0] ? 0.0F : view.own[i];
  }
}

}  // namespace

extern const AttackDef zero_attack = {
    .name = "zero",
    .summary = "Zeros: a free rider that takes part and computes nothing.",
    .forge = forge_zero,
};

extern const AttackDef stale_attack = {
    .name = "stale",
    .summary = "Its own update of an earlier round.",
    .options = kStaleOptions,
    .remembers = true,
    .forge = forge_stale,
};

extern const AttackDef drop_attack = {
    .name = "drop",
    .summary = "Its own update without some coordinates.",
    .options = kDropOptions,
    .forge = forge_drop,
};

}  // namespace weft
