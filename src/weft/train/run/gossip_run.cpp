#include "weft/train/run/gossip_run.h"

#include <utility>

#include "weft/train/exchange/gossip_exchange.h"

namespace weft {

bool gossips(const Recipe& recipe) { return recipe.group.exchange == "gossip"; }

Status check_gossip_start(bool resume) {
  if (!resume) return {};
  return invalid_argument(
      "--resume: a run with group.exchange = \"gossip\" goes on as long as one member lives; join "
      "it with a ticket of that member");
}

Result<GossipRun> start_gossip_run(const Trainer& trainer, const PeerSettings& settings,
                                   const std::optional<Ticket>& ticket) {
  const Recipe& recipe = trainer.recipe();
  GossipMemberOptions options = gossip_options(recipe, trainer.layout(), settings);
  Hash256 nonce{};
  random_bytes(nonce);
  options.gossip.run = ticket ? ticket->run : make_run_id(options.recipe_hash, nonce);
  options.ticket = ticket;
  GossipRun run;
  run.run_id = to_hex(options.gossip.run);
  WEFT_TRY_ASSIGN(auto member, GossipMember::start(std::move(options)));
  const GossipExchangeOptions rounds = {trainer.layout().num_elements(), trainer.training_rounds(),
                                        last_round(recipe)};
  run.exchange = make_gossip_exchange(std::move(member), rounds);
  return run;
}

}  // namespace weft
