// evaluate_shard: loss and accuracy of a model on a part of a dataset, without training it.
//
// Threads: the training thread. Fails: as the model's operations do, by std::invalid_argument.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/data/batch.h"
#include "weft/data/dataset.h"
#include "weft/data/sampler.h"
#include "weft/nn/module.h"
#include "weft/train/report/confusion.h"
#include "weft/train/report/round_report.h"

namespace weft {

// So many of the shard's samples are measured; the first call is before the first, with 0.
using EvaluationProgress = std::function<void(std::int64_t done, std::int64_t all)>;

// What else an evaluation gives.
struct EvaluationWatch {
  EvaluationProgress progress = {};
  Confusion* confusion = nullptr;  // filled where samples have classes
  // Changes each batch before it is measured; samples whose label becomes kIgnoredLabel are in no
  // sum of right answers.
  std::function<void(Batch& batch)> edit = {};
};

// `loss` is divided by the labels of the whole dataset, so that the shards' sum is its mean.
// Leaves the model in training mode.
RoundReport evaluate_shard(Module& model, const Dataset& dataset, ShardRange shard,
                           const BatchOptions& options, const EvaluationWatch& watch = {});

}  // namespace weft
