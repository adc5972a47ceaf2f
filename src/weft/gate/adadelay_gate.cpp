// adadelay: weight sqrt(t / (t + s)) for gradients of round t after s rounds.
//
// IMPLEMENTATION: S. Sra, A. W. Yu, M. Li, A. Smola, "AdaDelay: delay adaptive distributed
// stochastic optimization", AISTATS 2016: steps of 1 / (L + c sqrt(t + s)), here against that of a
// gradient without delay and with L = 0, its limit for long runs. Delays matter in early rounds,
// and hardly later.
#include <cmath>

#include "weft/gate/gate_def.h"

namespace weft {

extern const GateDef adadelay_gate = {
    .name = "adadelay",
    .summary =
        "Late gradients of round t and s rounds count sqrt(t / (t + s)) (Sra et al. 2016, "
        "AdaDelay).",
    .weight =
        [](const GateInput&, const Lateness& late) {
          const auto round = static_cast<double>(late.round);
          return std::sqrt(round / (round + static_cast<double>(late.staleness)));
        },
};

}  // namespace weft
