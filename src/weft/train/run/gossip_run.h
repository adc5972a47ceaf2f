// Starts a member of a run with group.exchange = "gossip" and its exchange.
//
// Where it stands: run and join commands -> here -> GossipMember, GossipExchange. Threads: any.
// Fails: as GossipMember::start().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/base/status.h"
#include "weft/peer/ticket.h"
#include "weft/train/exchange/group_exchange.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/run/trainer.h"
#include "weft/train/run/wiring.h"

namespace weft {

struct GossipRun {
  std::string run_id;
  std::unique_ptr<GroupExchange> exchange;
};
// Founds a run of the trainer's recipe, or joins that of the ticket. A run that is founded goes on
// from the trainer's state: newcomers are given its parameters, and the first round follows it.
Result<GossipRun> start_gossip_run(Trainer& trainer, const PeerSettings& settings,
                                   const std::optional<Ticket>& ticket);

}  // namespace weft
