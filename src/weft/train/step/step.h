// One training step: the whole of what a member does in a round, in reading order.
//
// Where it stands: run loop -> train_step -> model, exchange, optimizer. See docs/ARCHITECTURE.md,
// "The step".
// Threads: the training thread. Fails: kAborted where the view changed before the sums were
// committed: parameters and optimizer are untouched, and the round can be run again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "weft/array/arena/parameter_arena.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/data/batch_loader.h"
#include "weft/nn/module.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedule.h"
#include "weft/train/exchange/round_exchange.h"
#include "weft/train/report/round_report.h"

namespace weft {

class CapturedStep;
class LossScale;
class MemberMomentum;
class MemberPart;

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
  // Borrowed; null: equal shares, and rounds wait for all members.
  MemberPart* part = nullptr;
  // Borrowed; this member's part of a measurement on the test set that the round takes along. Null:
  // there is none.
  const ValidationSums* validation = nullptr;
  // A round makes one update of the members' own means, by a rule, and not the sum of their parts
  // of one mean. Nothing that a single member reports decides about the state then.
  bool aggregates = false;
  // Borrowed; what this member sends in place of its gradients. Null: the gradients.
  MemberMomentum* momentum = nullptr;
};

struct StepReport {
  RoundMetrics metrics;  // of the whole group
  double learning_rate = 0;
  // Gradients were not finite in f16, or nobody's came in time: parameters and optimizer are as
  // before.
  bool skipped = false;
  // The round took along a measurement on the test set of the state after so many steps, and
  // whether that was the best so far.
  std::optional<std::int64_t> measured_step{};
  bool best = false;
  bool own_finite = true;       // the loss of this member's part is a number
  std::int64_t share = 0;       // samples of the batch that were this member's to compute
  double compute_seconds = 0;   // own
  double exchange_seconds = 0;  // inside finish()
  // Where members average with neighbours.
  std::optional<Mixing> mixing{};
};

// Computes this member's shard of round `turn.round`, exchanges it and updates the state.
Result<StepReport> train_step(const StepParts& parts, const Turn& turn, RoundExchange& exchange);

// Updates the state with what a round came to, whether this member computed or not.
StepReport apply_step(const StepParts& parts, const Turn& turn, const RoundResult& result);

// One member's part of one global batch.
struct ShardWork {
  const StepParts& parts;
  std::uint64_t step;  // from 0
  ShardRange shard;
  double scale;  // of the loss: 1 / labels of the batch whose mean is taken
};

// Forward and backward of the shard, whose rows `batch` holds. The gradients stand in the arena;
// `ready` is called for each as soon as it is complete, and not for parameters without one.
RoundReport compute_shard(const ShardWork& work, const Batch& batch,
                          const std::function<void(ParameterId)>& ready);

// The optimizer step `step`, from 0, with gradients of the arena's layout (clipped, if asked).
// False if they were not finite in f16: nothing has moved then.
bool update_parameters(const StepParts& parts, std::int64_t step, std::span<const float> gradients);

// The sum over labels, times `scale`: cross-entropy for classes, squared errors for values, which
// are the outputs' shape and floating.
Tensor summed_loss(const Tensor& outputs, const Array& labels, double scale,
                   double label_smoothing = 0.0);

// How many rows of `logits` [..., classes] are largest at their label; `labels` has the shape of
// the logits without the classes. NaN for values.
double count_correct(const Array& logits, const Array& labels);

}  // namespace weft
