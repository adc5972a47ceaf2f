// GroupExchange: a member's group with both of its sides, as the exchanges of real groups have
// them.
//
// The program that founds or joins a run holds one; steps get its RoundExchange, which may be
// wrapped (AuditExchange), and commands its GroupAdministration. Threads: as the two.
#pragma once

#include "weft/train/exchange/group_administration.h"
#include "weft/train/exchange/round_exchange.h"

namespace weft {

class GroupExchange : public RoundExchange, public GroupAdministration {};

}  // namespace weft
