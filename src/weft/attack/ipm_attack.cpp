// ipm: inner product manipulation, the honest members' mean the other way round. A short one is
// hard to tell from an honest update, and turns the direction of a result that is nearly zero.
#include "weft/attack/attack_def.h"

namespace weft {
namespace {

constexpr Option kIpmOptions[] = {
    {.name = "scale", .fallback = 0.5, .max = 1e30, .help = "Its length in that of the mean."},
};

void forge_ipm(const AttackView& view, std::span<const double> options, AttackMemory& /*memory*/,
               std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(-options[0] * honest_mean(view, i));
  }
}

}  // namespace

extern const AttackDef ipm_attack = {
    .name = "ipm",
    .summary = "The honest members' mean with the other sign (Xie et al. 2020).",
    .options = kIpmOptions,
    .forge = forge_ipm,
};

}  // namespace weft
