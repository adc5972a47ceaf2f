// sign_flip: the attacker's own update the other way round.
#include <algorithm>

#include "weft/attack/attack_def.h"

namespace weft {
namespace {

constexpr Option kSignFlipOptions[] = {
    {.name = "scale", .fallback = 1, .max = 1e30, .help = "How many times as long it is."},
};

void forge_sign_flip(const AttackView& view, std::span<const double> options,
                     AttackMemory& /*memory*/, std::span<float> out) {
  const auto factor = static_cast<float>(-options[0]);
  std::ranges::transform(view.own, out.begin(), [factor](float value) { return factor * value; });
}

}  // namespace

extern const AttackDef sign_flip_attack = {
    .name = "sign_flip",
    .summary = "Its own update with the other sign (Li et al. 2019).",
    .options = kSignFlipOptions,
    .forge = forge_sign_flip,
};

}  // namespace weft
