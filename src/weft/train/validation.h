// Validation: how the model has done on the test set so far, as all members hold it alike.
//
// With run.evaluate_every_steps each member measures its part of the test set in the round after
// every so many steps, before the round moves the parameters, and gives its sums to the round's
// metrics. So every member hears the same loss with the same round, a newcomer that catches up by
// the sums alone too, and all decide alike what the best state is and when there is no use in going
// on.
//
// Where it stands: round metrics -> Trainer -> here -> run loop, checkpoint. Threads: a value.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "weft/base/status.h"
#include "weft/train/recipe.h"

namespace weft {

class Validation {
 public:
  // The state after `step` steps was measured; whether its loss is the smallest so far, by a
  // millionth at least. One that is no finite number never is.
  bool hear(std::int64_t step, double loss);

  // The step after which it was smallest; 0: none was measured.
  std::int64_t best_step() const { return best_step_; }
  double best_loss() const { return best_loss_; }
  // Measurements since the best one.
  std::int64_t since_best() const { return since_best_; }

  // For newcomers and checkpoints; adopt() fails with kCorrupt on any other text and takes "" for
  // nothing measured.
  std::string encode() const;
  Status adopt(std::string_view text);

  friend bool operator==(const Validation&, const Validation&) = default;

 private:
  double best_loss_ = std::numeric_limits<double>::infinity();
  std::int64_t best_step_ = 0;
  std::int64_t since_best_ = 0;
};

// Whether the state after `step` steps is measured in the round that follows.
bool is_measured(const Recipe& recipe, std::int64_t step);

// Fails: kInvalidArgument where keys of validation do not go together.
Status check_validation(const Recipe& recipe);

}  // namespace weft
