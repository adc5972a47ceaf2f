// MixTrainedJudge: how well a model distinguishes a member's classes, by the samples that
// MixTrainedLearner::hold_out() keeps from its training.
//
// Where it stands: MixWorld owns one for each member, and make_mix_tools() makes that of a member
// over sockets, where the combination needs it. Threads: one
// owner. Fails: make() as BatchLoader::samples().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/status.h"
#include "weft/mix/combine/mix_judge.h"
#include "weft/train/run/trainer.h"
#include "weft/train/step/mix_learner.h"

namespace weft {

class MixTrainedJudge final : public MixJudge {
 public:
  // Borrows `trainer`, which must outlive this; scores() puts models into its arena.
  static Result<std::unique_ptr<MixTrainedJudge>> make(Trainer& trainer,
                                                       const MixTrainedLearner& learner,
                                                       std::uint32_t member);
  // For make(): the kept samples and their labels.
  MixTrainedJudge(Trainer& trainer, Array inputs, std::vector<std::size_t> truths);

  const std::vector<std::size_t>& familiar() const override { return familiar_; }
  std::vector<double> scores(std::span<const float> model) override;

 private:
  Trainer& trainer_;
  const Array inputs_;
  const std::vector<std::size_t> truths_;
  std::vector<std::size_t> familiar_;
};

}  // namespace weft
