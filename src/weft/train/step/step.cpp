#include "weft/train/step/step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "weft/array/launch.h"
#include "weft/autograd/backward.h"
#include "weft/op/arithmetic.h"
#include "weft/op/loss.h"
#include "weft/optim/clip.h"
#include "weft/swarm/running_statistics.h"
#include "weft/train/capture/captured_step.h"
#include "weft/train/report/confusion.h"
#include "weft/train/step/member_part.h"
#include "weft/train/step/round_vector.h"
#include "weft/train/update/loss_scale.h"
#include "weft/train/update/member_momentum.h"
#include "weft/train/update/precision.h"

namespace weft {
namespace {

Batch rows_of(const Batch& batch, std::int64_t begin, std::int64_t end) {
  if (begin == 0 && end == batch.inputs.dim(0)) return batch;
  Batch piece = batch;
  piece.inputs = batch.inputs.slice(0, begin, end);
  piece.labels = batch.labels.slice(0, begin, end);
  if (batch.lengths.defined()) piece.lengths = batch.lengths.slice(0, begin, end);
  return piece;
}

// Forward and backward of rows [begin, end) of the shard; adds to `sum`.
void compute_piece(const ShardWork& work, const Batch& batch, ShardRange rows,
                   const GradientSink& sink, LeafGradients leaves, RoundReport& sum) {
  work.parts.model.set_step_context(
      {work.parts.seed, work.step, static_cast<std::uint64_t>(work.shard.begin + rows.begin)});
  const Batch piece = rows_of(batch, rows.begin, rows.end);
  const ShardWorkFunction compute = [&](const Array& inputs, const Array& labels,
                                        const GradientSink& to) {
    const LowPrecision low(work.parts.model, work.parts.precision);
    const Tensor logits = LowPrecision::output(work.parts.model.forward(low.input(inputs)));
    const Tensor loss = summed_loss(logits, labels, work.scale, work.parts.label_smoothing);
    BackwardOptions options;
    options.leaf_gradients = leaves;
    const LossScale* const scale = work.parts.loss_scale;
    backward(scale != nullptr ? scale->scaled(loss) : loss, to, options);
    return ShardOutput{loss.array(), logits.array()};
  };
  const bool overwrites = leaves == LeafGradients::kOverwrite;
  const ShardOutput output =
      work.parts.captured != nullptr
          ? work.parts.captured->run(piece.inputs, piece.labels,
                                     overwrites ? "overwrite" : "accumulate", compute, sink)
          : compute(piece.inputs, piece.labels, sink);
  sum.loss += output.loss.item();
  sum.correct += count_correct(output.logits, piece.labels);
  sum.samples += static_cast<double>(rows.size());
  sum.labels += static_cast<double>(piece.labels.size());
}

// The summed gradients, clipped as the recipe asks; a copy in the arena where they change.
std::span<const float> clipped(const StepParts& parts, std::span<const float> gradients) {
  if (parts.clip_norm <= 0 && parts.clip_value <= 0) return gradients;
  const std::span<float> own = parts.arena.gradients();
  if (own.data() != gradients.data()) std::copy(gradients.begin(), gradients.end(), own.begin());
  RunningStatistics::clear(parts.arena, own);
  if (parts.clip_value > 0) clip_by_value(own, parts.clip_value);
  if (parts.clip_norm > 0) clip_by_global_norm(own, parts.clip_norm);
  return own;
}

// The mean over the samples that the sums hold, where these lack some members' or have more.
std::span<const float> mean_of_arrived(const StepParts& parts, std::span<const float> sums,
                                       double weight, RoundMetrics& metrics) {
  if (parts.part == nullptr) return sums;
  parts.part->hear(metrics);
  if (weight <= 0 || weight == 1) return sums;
  metrics.loss /= weight;
  const auto scale = static_cast<float>(1 / weight);
  const std::span<float> own = parts.arena.gradients();
  std::transform(sums.begin(), sums.end(), own.begin(),
                 [scale](float value) { return value * scale; });
  return own;
}

void multiply(std::span<float> values, double factor) {
  for (float& value : values) value = static_cast<float>(static_cast<double>(value) * factor);
}

}  // namespace

RoundReport compute_shard(const ShardWork& work, const Batch& batch,
                          const std::function<void(ParameterId)>& ready) {
  const std::int64_t rows = work.shard.size();
  const std::int64_t wanted = work.parts.micro_batch;
  const std::int64_t piece = wanted > 0 ? std::min(wanted, rows) : rows;
  const auto hand_over = [&](ParameterId id) {
    if (LossScale* const scale = work.parts.loss_scale; scale != nullptr) {
      scale->unscale(work.parts.arena.gradient(id).flat<float>());
    }
    ready(id);
  };
  RoundReport own;
  if (piece == rows) {
    compute_piece(
        work, batch, {0, rows}, [&](ParameterId id, const Array&) { hand_over(id); },
        LeafGradients::kOverwrite, own);
    return own;
  }
  work.parts.arena.zero_gradients();
  std::vector<bool> waiting(static_cast<std::size_t>(work.parts.arena.size()));
  for (std::int64_t begin = 0; begin < rows; begin += piece) {
    const bool last = begin + piece >= rows;
    const auto sink = [&](ParameterId id, const Array&) {
      waiting[static_cast<std::size_t>(id.value())] = !last;
      if (last) hand_over(id);
    };
    compute_piece(work, batch, {begin, std::min(rows, begin + piece)}, sink,
                  LeafGradients::kAccumulate, own);
  }
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i]) hand_over(ParameterId(static_cast<int>(i)));
  }
  return own;
}

bool update_parameters(const StepParts& parts, std::int64_t step,
                       std::span<const float> gradients) {
  parts.optimizer.set_learning_rate(parts.learning_rate * schedule_factor(parts.schedule, step));
  if (parts.loss_scale != nullptr && !parts.loss_scale->update(gradients)) {
    // The step is over all the same: steps are counted as rounds are.
    parts.optimizer.set_steps(parts.optimizer.steps() + 1);
    return false;
  }
  parts.optimizer.step(clipped(parts, gradients));
  return true;
}

Tensor summed_loss(const Tensor& outputs, const Array& labels, double scale,
                   double label_smoothing) {
  if (is_floating(labels.dtype())) {
    return mse_loss(outputs, Tensor(labels), Reduction::kSum) * scale;
  }
  CrossEntropyOptions options;
  options.reduction = Reduction::kSum;
  options.scale = scale;
  options.label_smoothing = label_smoothing;
  return cross_entropy(outputs, labels, options);
}

Result<StepReport> train_step(const StepParts& parts, const Turn& turn, RoundExchange& exchange) {
  const TimePoint begun = parts.clock.now();
  const auto step = static_cast<std::int64_t>(turn.round.value()) - 1;
  const std::int64_t global_batch = parts.loader.batch_size();
  const ShardRange shard = shard_for(parts.part, turn, global_batch);
  WEFT_TRY_ASSIGN(const Batch batch, parts.loader.get(step, shard));
  const bool whole = parts.part != nullptr && !parts.part->options().waits;
  RoundVector vector(parts.arena, exchange, whole);
  if (parts.part != nullptr) {
    WEFT_TRY(parts.part->begin(turn, shard, parts.arena, exchange));
  }
  WEFT_TRY(vector.begin());
  if (parts.momentum != nullptr) parts.momentum->begin(turn.round);
  RunningStatistics statistics(parts.arena);
  RoundReport own;
  if (shard.size() > 0) {
    const std::int64_t labels = global_batch * (batch.labels.size() / shard.size());
    const ShardWork work = {parts, static_cast<std::uint64_t>(step), shard,
                            1.0 / static_cast<double>(labels)};
    const double part = static_cast<double>(shard.size()) / static_cast<double>(global_batch);
    own = compute_shard(work, batch, [&](ParameterId id) {
      if (parts.aggregates) multiply(parts.arena.gradient(id).flat<float>(), 1 / part);
      if (parts.momentum != nullptr) parts.momentum->replace(id);
      vector.add(id);
    });
    statistics.hand_over(parts.aggregates ? 1.0 : part);
    for (const int entry : statistics.entries()) vector.add(ParameterId(entry));
  }
  if (parts.validation != nullptr) own.validation = *parts.validation;
  const TimePoint computed = parts.clock.now();
  own.compute_seconds = to_seconds(computed - begun);
  if (parts.part != nullptr) {
    own.member = parts.part->computed(own.compute_seconds, shard.size());
  }
  if (whole) {
    RoundReport all = own;
    const std::span<const float> gradients = parts.part->with_carried(vector.complete(), all);
    WEFT_TRY(vector.add_whole(gradients, all));
  } else {
    WEFT_TRY(vector.add_rest(own));
  }
  WEFT_TRY_ASSIGN(const RoundResult result, vector.finish());
  const TimePoint exchanged = parts.clock.now();
  if (whole) parts.part->ended(result, parts.arena, own);

  StepReport report = apply_step(parts, turn, result);
  report.own_finite = std::isfinite(own.loss);
  report.share = shard.size();
  report.exchange_seconds = to_seconds(exchanged - computed);
  report.compute_seconds = to_seconds(parts.clock.now() - begun) - report.exchange_seconds;
  return report;
}

StepReport apply_step(const StepParts& parts, const Turn& turn, const RoundResult& result) {
  const auto step = static_cast<std::int64_t>(turn.round.value()) - 1;
  if (parts.momentum != nullptr) parts.momentum->applied(turn.round);
  StepReport report;
  report.metrics = fold_reports(result.reports);
  const auto batch = static_cast<double>(parts.loader.batch_size());
  if (parts.aggregates) report.metrics.loss = median_loss(result.reports, batch);
  const double weight = parts.aggregates ? 1.0 : report.metrics.samples / batch;
  const std::span<const float> mean = mean_of_arrived(parts, result.sums, weight, report.metrics);
  if (weight > 0) {
    report.skipped = !update_parameters(parts, step, mean);
  } else {
    // The round is over all the same: steps are counted as rounds are.
    report.skipped = true;
    parts.optimizer.set_steps(parts.optimizer.steps() + 1);
  }
  report.learning_rate = parts.optimizer.learning_rate();
  if (!report.skipped) {
    RunningStatistics::apply(parts.arena, result.sums, weight);
  }
  return report;
}

double count_correct(const Array& logits, const Array& labels) {
  if (is_floating(labels.dtype())) return std::numeric_limits<double>::quiet_NaN();
  const Array rows = logits.contiguous();
  const Array wanted = labels.contiguous();
  Array correct = Array::empty({}, DType::kI64, rows.device());
  launch("count_correct", {&rows, &wanted}, {&correct}, [](LaunchArrays in, LaunchArrays out) {
    const auto values = std::span<const float>(in[0].flat<float>());
    const auto targets = std::span<const std::int64_t>(in[1].flat<std::int64_t>());
    const auto classes = static_cast<std::size_t>(in[0].dim(-1));
    std::int64_t hits = 0;
    for (std::size_t row = 0; row < targets.size(); ++row) {
      hits += likeliest(values.subspan(row * classes, classes)) == targets[row] ? 1 : 0;
    }
    *out[0].data<std::int64_t>() = hits;
  });
  return correct.item();
}

}  // namespace weft
