// A member that lies: its gradients go out as an attack (attack.h) has them.
//
// It follows the protocol in all else: it applies what the rounds come to, and its reports are
// true. It sees no other member's gradients, so that an attack by the honest members' mean takes
// its own for that. Gradients leave when the last are ready. A round that is run again counts
// again for attacks that remember. For tests and simulations; nothing that is installed contains
// it.
//
// Where it stands: RunLoop -> this -> the real RoundExchange. Threads and failures: of that one.
#pragma once

#include <memory>

#include "weft/attack/attack.h"
#include "weft/train/exchange/round_exchange.h"

namespace weft {

// Borrows `inner`, which must outlive what is returned.
std::unique_ptr<RoundExchange> make_lying_member(RoundExchange& inner, Attack attack);

}  // namespace weft
