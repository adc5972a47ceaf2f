// A member that lies: its gradients go out with the other sign, `factor` times as large.
//
// It follows the protocol in all else: it applies what the rounds come to, and its reports are
// true. For tests and simulations; nothing that is installed contains it. After the sign-flipping
// attack of Li et al., "RSA: Byzantine-robust stochastic aggregation methods", AAAI 2019.
//
// Where it stands: RunLoop -> this -> the real RoundExchange. Threads and failures: of that one.
#pragma once

#include <memory>

#include "weft/train/exchange/round_exchange.h"

namespace weft {

// Borrows `inner`, which must outlive what is returned.
std::unique_ptr<RoundExchange> make_sign_flip(RoundExchange& inner, float factor);

}  // namespace weft
