// One training step: the whole of what a member does in a round, in reading order.
//
// Where it stands: run loop -> train_step -> model, exchange, optimizer. See docs/ARCHITECTURE.md,
// "The step".
// Threads: the training thread. Fails: kAborted where the view changed before the sums were
// committed: parameters and optimizer are untouched, and the round can be run again.
#pragma once

#include <cstdint>
#include <span>

#include "weft/array/parameter_arena.h"
#include "weft/base/time.h"
#include "weft/data/batch_loader.h"
#include "weft/nn/module.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedule.h"
#include "weft/train/exchange.h"
#include "weft/train/round_vector.h"

namespace weft {

class CapturedStep;
class LossScale;

// All borrowed.
struct StepParts {
  Module& model;
  ParameterArena& arena;
  Optimizer& optimizer;
  BatchLoader& loader;
  const ScheduleOptions& schedule;
  double learning_rate;  // before the schedule
  std::uint64_t seed;
  const Clock& clock;
  double label_smoothing = 0;
  std::int64_t micro_batch = 0;  // samples computed at a time; 0: the whole shard
  double clip_norm = 0;          // of the summed gradients; 0: not
  double clip_value = 0;
  DType precision = DType::kF32;
  LossScale* loss_scale = nullptr;  // f16 only
  // Borrowed; records the work of a shard and replays it. Null: every step is computed eagerly,
  // with the same bits.
  CapturedStep* captured = nullptr;
};

struct StepReport {
  RoundMetrics metrics;  // of the whole group
  double learning_rate = 0;
  // Gradients were not finite in f16: parameters and optimizer are as before.
  bool skipped = false;
  double compute_seconds = 0;   // own
  double exchange_seconds = 0;  // inside finish()
};

// Computes this member's shard of round `turn.round`, exchanges it and updates the state.
Result<StepReport> train_step(const StepParts& parts, const Turn& turn, Exchange& exchange);

// Updates the state with the sums of a round that others computed.
StepReport apply_step(const StepParts& parts, const Turn& turn, std::span<const float> sums);

// The sum over labels, times `scale`: cross-entropy for classes, squared errors for values, which
// are the outputs' shape and floating.
Tensor summed_loss(const Tensor& outputs, const Array& labels, double scale,
                   double label_smoothing = 0.0);

// How many rows of `logits` [..., classes] are largest at their label; `labels` has the shape of
// the logits without the classes. NaN for values.
double count_correct(const Array& logits, const Array& labels);

}  // namespace weft
