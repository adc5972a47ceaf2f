// GossipTrainer: one Trainer that plays peers that each have parameters of their own.
//
// The two halves of GossipStep (train/step/gossip_step.h), with a peer's parameters and
// optimizer state put into the Trainer before and taken out after each.
//
// Where it stands: GossipPeer -> here -> Trainer. Memory: for each peer its parameters, gradients
// and optimizer state; the model, its data and its recorded steps once. Threads: one owner.
// Fails: make() as Trainer::make(), and with kInvalidArgument for local steps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/train/run/trainer.h"

namespace weft::sim {

struct GossipState {
  // Shared with the frames that are on their way; replaced, never changed.
  std::shared_ptr<const std::vector<float>> parameters;
  std::vector<std::vector<float>> states;  // of the arena, in its order
  std::int64_t steps = 0;
  // What compute() left: of the round at work.
  std::vector<float> gradients;
  // The parameters after the forward pass, if the model has buffers, which that changes.
  std::vector<float> after;
};

class GossipTrainer {
 public:
  // Borrows `clock`, which must outlive this.
  static Result<std::unique_ptr<GossipTrainer>> make(const Recipe& recipe, const DataPlaces& places,
                                                     const Clock& clock,
                                                     const Trainer::Review& review = {});

  const GossipState& first_state() const { return first_; }
  // The gradients of `self` in round `round`, at its parameters.
  Result<RoundReport> compute(GossipState& state, const PeerId& self, Round round);
  // Goes on from the neighbours' mean by these gradients.
  void update(GossipState& state, Round round, std::span<const float> mixed);
  // Trainer::digest() of a peer.
  std::string digest(const GossipState& state);
  // On the test set.
  Result<RoundReport> evaluate(std::span<const float> parameters);

  const Trainer& trainer() const { return *trainer_; }

 private:
  explicit GossipTrainer(std::unique_ptr<Trainer> trainer);
  void put_in(std::span<const float> parameters, const GossipState& state);
  void take_out(GossipState& state);

  std::unique_ptr<Trainer> trainer_;
  const std::vector<std::string> names_;
  const bool has_buffers_;
  GossipState first_;
};

}  // namespace weft::sim
