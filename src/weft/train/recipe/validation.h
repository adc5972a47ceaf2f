// Validation: the results on the test set so far, the same at all members.
//
// With run.evaluate_every_steps each member measures its part of the test set in the round after
// every run.evaluate_every_steps steps, before the round changes the parameters, and adds its sums
// to the round's metrics. So every member gets the same loss with the same round, including a
// newcomer that catches up by the sums alone, and all make the same decision about the best state
// and an early stop.
//
// Where it stands: round metrics -> Trainer -> here -> run loop, checkpoint. Threads: a value.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "weft/base/status.h"
#include "weft/train/recipe/recipe.h"

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
