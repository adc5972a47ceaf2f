// mimic: the update of one honest member again and again, so that the data of this member count for
// more than the others'. No rule can tell it from an honest update.
//
// In its first rounds it looks for the direction in which honest updates differ most: it keeps
// their running mean and a power iteration with their differences from it, and sends the update
// that goes farthest in that direction. From then on it stays with the last one's sender.
// AttackMemory has the mean and the direction.
#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/attack/attack_def.h"
#include "weft/base/rng.h"

namespace weft {
namespace {

constexpr Option kMimicOptions[] = {
    {.name = "warmup",
     .fallback = 1,
     .max = 1e6,
     .whole = true,
     .help = "Rounds in which it looks for a member; 0: it takes the first."},
};

double inner_product(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

void start_looking(const AttackView& view, AttackMemory& memory) {
  memory.vectors.assign(2, std::vector<float>(view.own.size()));
  Rng rng(view.seed);
  for (float& value : memory.vectors[1]) value = static_cast<float>(rng.normal());
}

// One step of the running mean and of the power iteration.
void look(const AttackView& view, AttackMemory& memory) {
  std::vector<float>& mean = memory.vectors[0];
  std::vector<float>& direction = memory.vectors[1];
  const double share = 1.0 / static_cast<double>(memory.rounds + 1);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    mean[i] = static_cast<float>((1 - share) * mean[i] + share * honest_mean(view, i));
  }
  std::vector<double> next(direction.size());
  for (const std::span<const float> vector : view.honest) {
    const double along = inner_product(vector, direction) - inner_product(mean, direction);
    for (std::size_t i = 0; i < next.size(); ++i) {
      next[i] += along * (static_cast<double>(vector[i]) - static_cast<double>(mean[i]));
    }
  }
  double squares = 0;
  for (std::size_t i = 0; i < next.size(); ++i) {
    next[i] = (1 - share) * direction[i] + share * next[i];
    squares += next[i] * next[i];
  }
  // Honest updates that do not differ leave the direction as it is.
  if (!(squares > 0) || !std::isfinite(squares)) return;
  for (std::size_t i = 0; i < next.size(); ++i) {
    direction[i] = static_cast<float>(next[i] / std::sqrt(squares));
  }
}

std::size_t farthest_along(const AttackView& view, std::span<const float> direction) {
  std::size_t best = 0;
  double most = -1;
  for (std::size_t member = 0; member < view.honest.size(); ++member) {
    const double along = std::abs(inner_product(view.honest[member], direction));
    if (along > most) {
      best = member;
      most = along;
    }
  }
  return best;
}

void forge_mimic(const AttackView& view, std::span<const double> options, AttackMemory& memory,
                 std::span<float> out) {
  if (static_cast<double>(memory.rounds) < options[0]) {
    if (memory.rounds == 0) start_looking(view, memory);
    look(view, memory);
    memory.member = farthest_along(view, memory.vectors[1]);
  }
  const std::span<const float> copied = view.honest[memory.member];
  std::copy(copied.begin(), copied.end(), out.begin());
}

}  // namespace

extern const AttackDef mimic_attack = {
    .name = "mimic",
    .summary = "The update of one honest member, repeated (Karimireddy et al. 2022).",
    .options = kMimicOptions,
    .remembers = true,
    .forge = forge_mimic,
};

}  // namespace weft
