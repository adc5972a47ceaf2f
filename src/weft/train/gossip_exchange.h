// GossipExchange: a run's turns where members average with neighbours and agree on nothing.
//
// Each round of the gossip is a kTrain turn of a group of one: contribute() the parameters, and
// finish() gives the neighbours' mean. What follows the last step is this member's own: it measures
// its own model on the whole test set. Other members appear in status() alone.
//
// Where it stands: as SwarmExchange, behind Exchange. Threads: the training thread; status(),
// ticket() and take_events() on any. Fails: as GossipMember.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/base/status.h"
#include "weft/gossip/gossip_member.h"
#include "weft/peer/ticket.h"
#include "weft/train/exchange.h"
#include "weft/train/trainer.h"
#include "weft/train/wiring.h"

namespace weft {

struct GossipExchangeOptions {
  std::int64_t elements = 0;  // of the parameters
  Round training_rounds;
  // That of the evaluation, or the same.
  Round last_round;
};

// Takes the member.
std::unique_ptr<Exchange> make_gossip_exchange(std::unique_ptr<GossipMember> member,
                                               const GossipExchangeOptions& options);

// Whether members average with neighbours.
bool gossips(const Recipe& recipe);
// kInvalidArgument where the run is to be resumed: it lives as long as one member does.
Status check_gossip_start(bool resume);

struct GossipRun {
  std::string run_id;
  std::unique_ptr<Exchange> exchange;
};
// Founds the run of the trainer's recipe, or joins that of the ticket.
Result<GossipRun> start_gossip_run(const Trainer& trainer, const PeerSettings& settings,
                                   const std::optional<Ticket>& ticket);

}  // namespace weft
