// plain, momentum, nesterov: gradient descent with a delta for a gradient.
//
// IMPLEMENTATION: Hsu, Qi and Brown, "Measuring the effects of non-identical data distribution for
// federated visual classification", 2019 (momentum: FedAvgM); Douillard et al., "DiLoCo", 2023,
// algorithm 1 (Nesterov's, in the form of PyTorch's SGD).
#include "weft/mix/outer/mix_outer_def.h"

namespace weft {
namespace {

constexpr double kRateMax = 1e6;
constexpr Option kPlainOptions[] = {
    {.name = "rate", .fallback = 1, .min = 0, .max = kRateMax, .help = "r: p -= r d."},
};
constexpr Option kMomentumOptions[] = {
    {.name = "rate", .fallback = 1, .min = 0, .max = kRateMax, .help = "r."},
    {.name = "momentum", .fallback = 0.9, .min = 0, .max = 1, .help = "u: m = u m + d, p -= r m."},
};
constexpr Option kNesterovOptions[] = {
    {.name = "rate", .fallback = 0.7, .min = 0, .max = kRateMax, .help = "r."},
    {.name = "momentum",
     .fallback = 0.9,
     .min = 0,
     .max = 1,
     .help = "u: m = u m + d, p -= r (d + u m)."},
};

}  // namespace

extern const MixOuterDef plain_outer = {
    .name = "plain",
    .summary = "The model minus the delta (McMahan et al. 2017, FedAvg).",
    .options = kPlainOptions,
    .move = [](const MixOuterInput& input, float delta,
               std::span<float> /*slots*/) { return static_cast<float>(input.options[0]) * delta; },
};

extern const MixOuterDef momentum_outer = {
    .name = "momentum",
    .summary = "Heavy-ball momentum (Hsu et al. 2019, FedAvgM).",
    .options = kMomentumOptions,
    .slots = 1,
    .move =
        [](const MixOuterInput& input, float delta, std::span<float> slots) {
          slots[0] = static_cast<float>(input.options[1]) * slots[0] + delta;
          return static_cast<float>(input.options[0]) * slots[0];
        },
};

extern const MixOuterDef nesterov_outer = {
    .name = "nesterov",
    .summary = "Nesterov's momentum (Douillard et al. 2023, DiLoCo).",
    .options = kNesterovOptions,
    .slots = 1,
    .move =
        [](const MixOuterInput& input, float delta, std::span<float> slots) {
          const auto momentum = static_cast<float>(input.options[1]);
          slots[0] = momentum * slots[0] + delta;
          return static_cast<float>(input.options[0]) * (delta + momentum * slots[0]);
        },
};

}  // namespace weft
