#include "weft/train/run/gossip_run.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/train/exchange/gossip_exchange.h"

namespace weft {

Result<GossipRun> start_gossip_run(Trainer& trainer, const PeerSettings& settings,
                                   const std::optional<Ticket>& ticket) {
  const Recipe& recipe = trainer.recipe();
  GossipMemberOptions options = gossip_options(recipe, trainer.layout(), settings);
  const Round done = trainer.rounds_done();
  if (!ticket && done > Round()) {
    const std::span<const float> values = std::as_const(trainer.arena()).parameters();
    const auto kept = std::make_shared<const std::vector<float>>(values.begin(), values.end());
    options.gossip.first_round = done.next();
    options.gossip.first_parameters = SharedBytes(kept, as_bytes(std::span<const float>(*kept)));
  }
  Hash256 nonce{};
  random_bytes(nonce);
  options.gossip.run = ticket ? ticket->run : make_run_id(options.recipe_hash, nonce);
  options.ticket = ticket;
  GossipRun run;
  run.run_id = to_hex(options.gossip.run);
  WEFT_TRY_ASSIGN(auto member, GossipMember::start(std::move(options)));
  const GossipExchangeOptions rounds = {trainer.layout().num_elements(), trainer.training_rounds(),
                                        last_round(recipe), ticket ? Round() : done,
                                        recipe.group.start_members};
  run.exchange = make_gossip_exchange(std::move(member), rounds);
  return run;
}

}  // namespace weft
