// infinite: infinities, which a rule that adds up cannot survive.
#include <algorithm>
#include <limits>

#include "weft/attack/attack_def.h"

namespace weft {

extern const AttackDef infinite_attack = {
    .name = "infinite",
    .summary = "Infinity in each coordinate.",
    .forge =
        [](const AttackView& /*view*/, std::span<const double> /*options*/,
           AttackMemory& /*memory*/, std::span<float> out) {
          std::ranges::fill(out, std::numeric_limits<float>::infinity());
        },
};

}  // namespace weft
