// GossipExchange: a run's turns where members average with neighbours and agree on nothing.
//
// Each round of the gossip is a kTrain turn of a group of one: contribute() the parameters, and
// finish() gives the neighbours' mean. What follows the last step is this member's own: it measures
// its own model on the whole test set. Other members appear in status() alone.
//
// Where it stands: as SwarmExchange, behind GroupExchange. Threads: the training thread; status(),
// ticket() and take_events() on any. Fails: as GossipMember.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/gossip/gossip_member.h"
#include "weft/train/exchange/group_exchange.h"

namespace weft {

struct GossipExchangeOptions {
  std::int64_t elements = 0;  // of the parameters
  Round training_rounds;
  // That of the evaluation, or the same.
  Round last_round;
  // The last one in the state that the run goes on from.
  Round applied{};
  // As the recipe has it, for people.
  std::int64_t start_members = 1;
};

// Takes the member.
std::unique_ptr<GroupExchange> make_gossip_exchange(std::unique_ptr<GossipMember> member,
                                                    const GossipExchangeOptions& options);

}  // namespace weft
