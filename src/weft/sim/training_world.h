// TrainingWorld: a world whose peers agree on rounds.
//
// Peer 0 founds the run, the others join one after the other, so that their ranks are their
// numbers; the first round waits for all of them.
//
// Where it stands: make_world() -> here -> SwarmMember, SimNetwork. Threads: one owner.
// Fails: make() as GroupTrainer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "weft/base/status.h"
#include "weft/sim/group_trainer.h"
#include "weft/sim/swarm_member.h"
#include "weft/sim/world.h"

namespace weft::sim {

class TrainingWorld final : public World, private MemberWatch {
 public:
  static Result<std::unique_ptr<World>> make(const Recipe& recipe, const DataPlaces& places,
                                             const WorldOptions& options, const WorldEvents& events,
                                             const Trainer::Review& review = {});

  const Trainer& trainer() const override { return trainer_->trainer(); }

 private:
  using World::World;
  void start() override;
  void join_late() override;
  bool ended() const override;
  void fill(WorldResult& result) override;
  void on_round(const SwarmMember& member, const Turn& turn, const StepReport& report) override;
  void on_event(const SwarmMember& member, const SwarmEvent& event) override;

  SwarmMember& add_member();
  void join_next(bool first);
  SwarmMember* a_member();

  std::string run_id_;
  std::unique_ptr<GroupTrainer> trainer_;
  SwarmCoreOptions core_options_;
  std::vector<SwarmMember*> members_;  // owned by World, by number
  // Members that the first round waits for and that are not in yet.
  int to_join_ = 0;
  std::map<std::uint64_t, Hash128> states_;
};

}  // namespace weft::sim
