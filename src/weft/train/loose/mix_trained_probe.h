// MixTrainedProbe: the units of a Trainer's model and what they compute, for combinations that
// match them.
//
// The inputs are samples of the training data, evenly spaced, the same for all members: as a set
// that all have.
//
// Where it stands: MixWorld, or make_mix_tools() for a member over sockets, owns one where the
// combination needs it. Threads: one owner.
// Fails: make() with kInvalidArgument for a model whose units cannot change places.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/status.h"
#include "weft/mix/combine/mix_probe.h"
#include "weft/nn/units.h"
#include "weft/train/run/trainer.h"

namespace weft {

class MixTrainedProbe final : public MixProbe {
 public:
  // Borrows `trainer`, which must outlive this; values() puts models into its arena.
  static Result<std::unique_ptr<MixTrainedProbe>> make(Trainer& trainer);
  // For make(): units of the trainer's model, and the inputs that all members probe with.
  MixTrainedProbe(Trainer& trainer, UnitLayers units, Array inputs);

  const std::vector<MixUnits>& layers() const override { return layers_; }
  std::vector<std::vector<float>> values(std::span<const float> model) override;

 private:
  Trainer& trainer_;
  const UnitLayers units_;
  const Array inputs_;
  std::vector<MixUnits> layers_;
};

}  // namespace weft
