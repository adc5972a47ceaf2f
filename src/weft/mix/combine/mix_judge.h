// MixJudge: how well a model distinguishes the classes that a member has samples of, by samples
// that it keeps from training.
//
// Where it stands: MixCore gives it to combinations that look at what a neighbour's model does
// (bristle); MixTrainedJudge runs the real model, that of tests is a closed form. Threads: that of
// the core, for which it takes as long as a pass forward over the samples. Fails: never; a model
// that is no numbers gets low scores.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft {

class MixJudge {
 public:
  virtual ~MixJudge() = default;
  // The classes of the kept samples, in ascending order.
  virtual const std::vector<std::size_t>& familiar() const = 0;
  // For each of familiar() the model's F1, from 0 to 1.
  virtual std::vector<double> scores(std::span<const float> model) = 0;
};

// 2 TP / (2 TP + FP + FN) of each of `classes`; 0 where that is 0 / 0. REQUIRES: as many guesses as
// truths.
std::vector<double> class_f1(std::span<const std::size_t> truths,
                             std::span<const std::size_t> guesses,
                             std::span<const std::size_t> classes);

}  // namespace weft
