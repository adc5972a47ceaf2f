// delay_compensation: late gradients are corrected for the way that the parameters have gone.
//
//   g(w_now) ~ g + lambda g * g * (w_now - w_then), element by element
//
// IMPLEMENTATION: S. Zheng et al., "Asynchronous stochastic gradient descent with delay
// compensation", ICML 2017: a Taylor expansion with lambda g g^T in place of the Hessian, of which
// the diagonal is kept (DC-ASGD-c, constant lambda, 0.04 in its experiments). Memory: the
// parameters of the late round, and the corrected gradients.
#include "weft/gate/gate_def.h"

namespace weft {
namespace {

constexpr Option kCompensationOptions[] = {
    {.name = "lambda", .fallback = 0.04, .min = 0, .max = 100, .help = "0 is carry."},
};

}  // namespace

extern const GateDef delay_compensation_gate = {
    .name = "delay_compensation",
    .summary =
        "Late gradients count in full, after lambda g^2 (w_now - w_then) was added (Zheng et al. "
        "2017, DC-ASGD).",
    .options = kCompensationOptions,
    .weight = [](const GateInput&, const Lateness&) { return 1.0; },
    .corrected =
        [](const GateInput& input, double gradient, double moved) {
          return gradient + input.options[0] * gradient * gradient * moved;
        },
};

}  // namespace weft
