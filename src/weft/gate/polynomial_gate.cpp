// polynomial: weight (1 + s)^-a after s rounds.
//
// IMPLEMENTATION: C. Xie, S. Koyejo, I. Gupta, "Asynchronous federated optimization", 2019, section
// 5.2, "polynomial", with its a = 0.5. FedAsync mixes whole models with it; here it weights
// gradients in the mean of a round, as FedBuff (Nguyen et al., 2022) weights updates.
#include "weft/base/portable_math.h"
#include "weft/gate/gate_def.h"

namespace weft {
namespace {

constexpr Option kPolynomialOptions[] = {
    {.name = "exponent", .fallback = 0.5, .min = 0, .max = 16, .help = "a; 0 is carry."},
};

}  // namespace

extern const GateDef polynomial_gate = {
    .name = "polynomial",
    .summary = "Late gradients of s rounds count (1 + s)^-a (Xie et al. 2019, FedAsync).",
    .options = kPolynomialOptions,
    .weight =
        [](const GateInput& input, const Lateness& late) {
          return portable_pow(1.0 + static_cast<double>(late.staleness), -input.options[0]);
        },
};

}  // namespace weft
