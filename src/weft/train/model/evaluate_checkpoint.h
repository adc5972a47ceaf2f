// evaluate_checkpoint(): how good a checkpoint's model is on the test data of its recipe. What
// `weft eval` does.
//
// The model, its tokenizer and its normalisation are the file's; only the test data are of this
// machine.
// Threads: the training thread. Fails: as open_checkpoint_model() and parse_weight_precision();
// kUnavailable where the test data are not there, with what to do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/data/catalog.h"
#include "weft/train/report/round_report.h"
#include "weft/train/step/evaluate.h"

namespace weft {

struct CheckpointEvaluation {
  std::int64_t step = 0;
  ComputedSums metrics;
  std::optional<double> bits_per_character;  // texts
  std::string digest;                        // of the state, hexadecimal
  Confusion confusion;                       // without classes where samples have none
  std::vector<std::string> class_names;      // may be empty
};
// `weights` is their type in products: f32 or int8.
Result<CheckpointEvaluation> evaluate_checkpoint(const std::string& path, const DataPlaces& places,
                                                 const Clock& clock,
                                                 const EvaluationProgress& progress = {},
                                                 std::string_view weights = "f32");

}  // namespace weft
