// MixWorld: a world whose peers train by a method of loose exchange (weft/mix).
//
// A round is a version: a combination by the server or by a version's combiner; where neighbours
// mix, a round of all running peers. The result is the newest version, or the mean of all members'
// models, and is measured on the test set.
//
// Where it stands: make_world() -> here -> MixPeer, SimNetwork. Threads: one owner.
// Fails: make() as MixTrainedLearner, and with kInvalidArgument for late joiners, and for members
// that come back to rounds of neighbours.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/status.h"
#include "weft/codec/codec.h"
#include "weft/mix/mix_method.h"
#include "weft/sim/mix/members_mean.h"
#include "weft/sim/mix/mix_peer.h"
#include "weft/sim/world.h"
#include "weft/train/loose/mix_trained_judge.h"
#include "weft/train/loose/mix_trained_probe.h"
#include "weft/train/run/trainer.h"
#include "weft/train/step/mix_learner.h"

namespace weft::sim {

class MixWorld final : public World {
 public:
  static Result<std::unique_ptr<World>> make(const Recipe& recipe, const DataPlaces& places,
                                             const WorldOptions& options, const WorldEvents& events,
                                             const Trainer::Review& review = {});

  const Trainer& trainer() const override { return *trainer_; }
  const MixPeer& member(std::size_t index) const { return *members_[index]; }

 private:
  // One round of neighbours, as far as it has been made.
  struct Sums {
    MixLoss loss;
    int members = 0;
    Hash128 states{};
    std::vector<double> models;
  };

  MixWorld(const WorldOptions& options, const WorldEvents& events, MixMethod method)
      : World(options, events),
        method_(std::move(method)),
        disruption_draws_(options.seed, 0xd15a) {}
  void start() override;
  void join_late() override {}
  bool comes_back(std::size_t number) override;
  bool may_leave(std::size_t number) const override;
  bool ended() const override;
  void fill(WorldResult& result) override;

  Status make_judges();
  void unite_sybils(std::uint32_t member, MixPeerSettings& settings);
  static Status check_faults(const WorldOptions& options, const MixPlan& plan);
  MixPeerSettings settings_of(std::uint32_t member);
  void disrupt(std::uint64_t version);
  std::vector<std::size_t> neighbours_of(std::size_t member) const;
  bool run_is_over() const;
  void on_combined(const MixPeer& member, const MixCombined& made);
  void on_work(const MixCombined& made, const Hash128& state);
  bool is_counted(const MixPeer& member) const;
  void show_complete_rounds();
  void show_version(std::uint64_t version, int members, const MixLoss& loss, const Hash128& state,
                    std::span<const float> model);
  bool is_measured(std::uint64_t version) const;
  MemberModels counted_models() const;
  // On the test set.
  Result<RoundReport> evaluate(std::span<const float> model);
  // SHA-256 of the state at the end, as a real member's summary has it.
  std::string digest_of(std::span<const float> model);
  std::vector<float> mean_model() const;
  // Those of the members' own models, by number; empty where there are too many to measure. Nothing
  // for a member that does not count.
  std::vector<std::optional<double>> accuracies();
  std::vector<WorldResult::Component> components(
      const std::vector<std::optional<double>>& accuracies) const;

  const MixMethod method_;
  std::optional<Codec> codec_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<MixTrainedLearner> learner_;
  std::unique_ptr<MixTrainedProbe> probe_;                // null where the combination needs none
  std::vector<std::unique_ptr<MixTrainedJudge>> judges_;  // by number; likewise none
  MixUnits outputs_;
  std::vector<MixPeer*> members_;       // owned by World, by number
  std::vector<PeerAddress> addresses_;  // by number
  Rng disruption_draws_;
  MixVector sybil_model_;  // what the first of one person's members has sent last
  std::uint64_t versions_ = 0;
  std::uint64_t works_ = 0;  // kPairwise: applied by all together
  // kServer, kSampled: the newest.
  std::uint64_t version_ = 0;
  MixVector newest_;
  std::map<std::uint64_t, Sums> rounds_;  // kNeighbours, by version
  Validation validation_;
};

}  // namespace weft::sim
