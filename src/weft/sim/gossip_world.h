// GossipWorld: a world whose peers average with neighbours, with no view and no commit.
//
// The peers of the beginning come at once, each dials one that came before it, and the first round
// waits for all of them; one that joins later fetches parameters first. A round is shown when the
// last running peer has done it. The result's state hash is over the states of all peers that
// finished, by number; its accuracy is of the mean of the honest ones' parameters.
//
// Where it stands: make_world() -> here -> GossipPeer, SimNetwork. Threads: one owner.
// Fails: make() as GossipTrainer.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "weft/base/status.h"
#include "weft/gossip/gossip_core.h"
#include "weft/sim/gossip_peer.h"
#include "weft/sim/gossip_trainer.h"
#include "weft/sim/mix/members_mean.h"
#include "weft/sim/world.h"

namespace weft::sim {

class GossipWorld final : public World {
 public:
  static Result<std::unique_ptr<World>> make(const Recipe& recipe, const DataPlaces& places,
                                             const WorldOptions& options, const WorldEvents& events,
                                             const Trainer::Review& review = {});

  const Trainer& trainer() const override { return trainer_->trainer(); }
  const GossipPeer& member(std::size_t index) const { return *members_[index]; }

 private:
  // The reports of the peers that have done a round.
  struct Sums {
    RoundReport report;
    double largest_seconds = 0;
    int members = 0;
    Hash128 states{};
  };

  using World::World;
  void start() override;
  void join_late() override;
  bool ended() const override;
  void fill(WorldResult& result) override;

  void add_member(bool newcomer);
  void on_round(std::size_t index, const GossipMix& mix, const RoundReport& report);
  void show_complete_rounds();
  MemberModels honest_models() const;

  std::unique_ptr<GossipTrainer> trainer_;
  GossipOptions gossip_;
  std::vector<GossipPeer*> members_;  // owned by World, by number
  std::map<Round, Sums> rounds_;
};

}  // namespace weft::sim
