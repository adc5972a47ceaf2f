// hosts_of(), shares_host(): which members of a view share a host, derived from facts that all
// members share.
//
// Where it stands: RoundCore calls them for each view, for the hierarchical all-reduce and for
// results that others may read in place. Threads: free functions. Fails: never; if two machines
// count as one by mistake, it costs time but changes no bits.
#pragma once

#include <vector>

#include "weft/peer/view.h"

namespace weft {

// By rank, a number for the host. Members share one if they advertise the same addresses, with any
// ports. Empty if that is of no use: all share one, or no two members do.
std::vector<int> hosts_of(const View& view);
// Another member shares the host of the one of rank `self`.
bool shares_host(const View& view, Rank self);

}  // namespace weft
