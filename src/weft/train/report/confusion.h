// Confusion: how often a model predicts each class for each other one.
//
// Where it stands: evaluate_shard() fills one, `weft eval` prints it.
// Threads: as a value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/array/array.h"

namespace weft {

class Confusion {
 public:
  // Logits f32 [n, classes] and labels i64 [n], each below `classes`, the same number in each call.
  void add(const Array& logits, const Array& labels);

  std::int64_t classes() const { return classes_; }  // 0 before the first add()
  // How many samples of class `label` were predicted as `said`. REQUIRES: both below classes().
  std::int64_t count(std::int64_t label, std::int64_t said) const;
  std::int64_t samples(std::int64_t label) const;
  std::int64_t correct(std::int64_t label) const { return count(label, label); }

 private:
  std::int64_t classes_ = 0;
  std::vector<std::int64_t> counts_;  // [label, said]
};

// The class with the largest of `logits`, the first of several. REQUIRES: not empty.
std::int64_t likeliest(std::span<const float> logits);

// For people: up to 12 classes as a matrix, with a row for the true class and a column for the
// predicted one; for more classes, each with the three most frequent predictions, and only the 20
// worst if there are more. `names` may be empty.
std::string confusion_text(const Confusion& confusion, const std::vector<std::string>& names);

}  // namespace weft
