#include "weft/train/loose/loose_run.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/train/exchange/gossip_exchange.h"
#include "weft/train/exchange/mix_exchange.h"
#include "weft/train/loose/mix_tools.h"
#include "weft/train/step/mix_learner.h"

namespace weft {

Result<LooseRun> start_gossip_run(Trainer& trainer, const PeerSettings& settings,
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
  options.member.run = ticket ? ticket->run : make_run_id(options.member.recipe_hash, nonce);
  options.member.ticket = ticket;
  LooseRun run;
  run.run_id = to_hex(options.member.run);
  WEFT_TRY_ASSIGN(auto member, GossipMember::start(std::move(options)));
  const GossipExchangeOptions rounds = {trainer.layout().num_elements(), trainer.training_rounds(),
                                        last_round(recipe), ticket ? Round() : done,
                                        recipe.group.start_members};
  run.exchange = make_gossip_exchange(std::move(member), rounds);
  return run;
}

Result<LooseRun> start_mix_run(Trainer& trainer, const PeerSettings& settings,
                               const std::optional<Ticket>& ticket,
                               std::function<bool()> stop_asked) {
  const Recipe& recipe = trainer.recipe();
  WEFT_TRY_ASSIGN(MixMemberOptions options, mix_options(recipe, trainer.layout(), settings));
  Hash256 nonce{};
  random_bytes(nonce);
  options.member.run = ticket ? ticket->run : make_run_id(options.member.recipe_hash, nonce);
  options.member.ticket = ticket;
  MixExchangeOptions exchange;
  exchange.elements = trainer.layout().num_elements();
  exchange.training_rounds = trainer.training_rounds();
  exchange.last_round = last_round(recipe);
  exchange.steps = recipe.run.steps;
  exchange.local_steps = recipe.local.steps;
  exchange.members = options.core.members;
  exchange.method = options.method;
  exchange.first_model = [&trainer](std::uint32_t member) {
    return mix_first_model(trainer.recipe(), trainer.model(), trainer.arena(), member);
  };
  WEFT_TRY(check_mix_tools(trainer, *options.method, options.core.members));
  exchange.make_tools = [&trainer, method = options.method,
                         members = options.core.members](std::uint32_t member) {
    return make_mix_tools(trainer, *method, member, members);
  };
  exchange.stop_asked = std::move(stop_asked);
  LooseRun run;
  run.run_id = to_hex(options.member.run);
  WEFT_TRY_ASSIGN(auto member, MixMember::start(std::move(options)));
  run.exchange = make_mix_exchange(std::move(member), std::move(exchange));
  return run;
}

}  // namespace weft
