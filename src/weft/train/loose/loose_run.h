// Starts a member of a run with group.exchange = "gossip" or "mix", and its exchange.
//
// Where it stands: run and join commands -> here -> GossipMember, MixMember and their exchanges.
// Threads: any. Fails: as start() of the members.
#pragma once

#include <functional>
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

struct LooseRun {
  std::string run_id;
  std::unique_ptr<GroupExchange> exchange;
};
// Founds a run of the trainer's recipe, or joins that of the ticket. A run that is founded goes on
// from the trainer's state: newcomers are given its parameters, and the first round follows it.
Result<LooseRun> start_gossip_run(Trainer& trainer, const PeerSettings& settings,
                                  const std::optional<Ticket>& ticket);

// Likewise by a method of loose exchange, whose members all begin with the first version.
// `stop_asked` ends the wait for the others. Borrows the trainer, which must outlive the exchange.
Result<LooseRun> start_mix_run(Trainer& trainer, const PeerSettings& settings,
                               const std::optional<Ticket>& ticket,
                               std::function<bool()> stop_asked);

}  // namespace weft
