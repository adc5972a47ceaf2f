// hosts_of(): which members of a view share a host, told from what all of them know alike.
//
// Where it stands: RoundCore asks it at each view, for the hierarchical way of an all-reduce.
// Threads: a free function. Fails: never; machines that are taken for one cost time, not bits.
#pragma once

#include <vector>

#include "weft/peer/view.h"

namespace weft {

// By rank, a number for the host. Members share one where they tell the same addresses, whatever
// the ports. Empty where that is of no use: all share one, or nobody shares any.
std::vector<int> hosts_of(const View& view);

}  // namespace weft
