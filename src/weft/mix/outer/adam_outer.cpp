// adam: Adam without a correction of the bias, for deltas.
//
// IMPLEMENTATION: Reddi, Charles, Zaheer, Garrett, Rush, Konecny, Kumar and McMahan, "Adaptive
// federated optimization", ICLR 2021, algorithm 2 (FedAdam).
#include <cmath>

#include "weft/mix/outer/mix_outer_def.h"

namespace weft {
namespace {

constexpr Option kAdamOptions[] = {
    {.name = "rate", .fallback = 0.01, .min = 0, .max = 1e6, .help = "r."},
    {.name = "beta1", .fallback = 0.9, .min = 0, .max = 1, .help = "Decay of the mean m."},
    {.name = "beta2",
     .fallback = 0.99,
     .min = 0,
     .max = 1,
     .help = "Decay of the mean v of squares."},
    {.name = "epsilon",
     .fallback = 1e-3,
     .min = 1e-12,
     .max = 1,
     .help = "p -= r m / (sqrt(v) + epsilon)."},
};

}  // namespace

extern const MixOuterDef adam_outer = {
    .name = "adam",
    .summary = "Adaptive steps for each parameter (Reddi et al. 2021, FedAdam).",
    .options = kAdamOptions,
    .slots = 2,
    .move =
        [](const MixOuterInput& input, float delta, std::span<float> slots) {
          const auto beta1 = static_cast<float>(input.options[1]);
          const auto beta2 = static_cast<float>(input.options[2]);
          slots[0] = beta1 * slots[0] + (1 - beta1) * delta;
          slots[1] = beta2 * slots[1] + (1 - beta2) * delta * delta;
          return static_cast<float>(input.options[0]) * slots[0] /
                 (std::sqrt(slots[1]) + static_cast<float>(input.options[3]));
        },
};

}  // namespace weft
