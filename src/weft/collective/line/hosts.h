// hosts_of(), shares_host(): which members of a view share a host, told from what all know alike.
//
// Where it stands: RoundCore asks at each view, for the hierarchical way of an all-reduce and for
// results that others may read where they lie. Threads: free functions. Fails: never; machines that
// are taken for one cost time, not bits.
#pragma once

#include <vector>

#include "weft/peer/view.h"

namespace weft {

// By rank, a number for the host. Members share one where they tell the same addresses, whatever
// the ports. Empty where that is of no use: all share one, or nobody shares any.
std::vector<int> hosts_of(const View& view);
// Another member shares the host of the one of rank `self`.
bool shares_host(const View& view, Rank self);

}  // namespace weft
