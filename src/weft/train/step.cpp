#include "weft/train/step.h"

#include <algorithm>

#include "weft/autograd/backward.h"
#include "weft/op/loss.h"

namespace weft {
namespace {

// Forward and backward of one shard; each gradient is handed over as soon as it is complete.
RoundMetrics compute_shard(const StepParts& parts, const Batch& batch, std::int64_t global_batch,
                           RoundVector& vector) {
  const double scale = 1.0 / static_cast<double>(global_batch);
  const Tensor logits = parts.model.forward(Tensor(batch.inputs));
  const Tensor loss = cross_entropy(logits, batch.labels, {Reduction::kSum, scale});
  BackwardOptions options;
  options.leaf_gradients = LeafGradients::kOverwrite;
  backward(
      loss, [&](ParameterId id, const Array&) { vector.add(id); }, options);
  RoundMetrics own;
  own.loss = loss.item();
  own.correct = static_cast<double>(count_correct(logits.array(), batch.labels));
  own.samples = static_cast<double>(batch.labels.size());
  return own;
}

}  // namespace

Result<StepReport> train_step(const StepParts& parts, const Turn& turn, Exchange& exchange) {
  const TimePoint begun = parts.clock.now();
  const auto step = static_cast<std::int64_t>(turn.round.value()) - 1;
  const std::int64_t global_batch = parts.loader.batch_size();
  const ShardRange shard = shard_of(global_batch, turn.rank.value(), turn.members);
  WEFT_TRY_ASSIGN(const Batch batch, parts.loader.get(step, shard));
  parts.model.set_step_context(
      {parts.seed, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(shard.begin)});

  RoundVector vector(parts.arena, exchange);
  WEFT_TRY(vector.begin());
  RoundMetrics own;
  if (shard.size() > 0) own = compute_shard(parts, batch, global_batch, vector);
  const TimePoint computed = parts.clock.now();
  own.compute_seconds = {to_seconds(computed - begun)};
  vector.add_rest(own, turn.rank.value());
  WEFT_TRY_ASSIGN(const std::span<const float> sums, vector.finish());
  const TimePoint exchanged = parts.clock.now();

  StepReport report = apply_step(parts, turn, sums);
  report.exchange_seconds = to_seconds(exchanged - computed);
  report.compute_seconds = to_seconds(parts.clock.now() - begun) - report.exchange_seconds;
  return report;
}

StepReport apply_step(const StepParts& parts, const Turn& turn, std::span<const float> sums) {
  const auto step = static_cast<std::int64_t>(turn.round.value()) - 1;
  const auto gradients = static_cast<std::size_t>(parts.arena.layout().num_elements());
  StepReport report;
  report.learning_rate = parts.learning_rate * schedule_factor(parts.schedule, step);
  parts.optimizer.set_learning_rate(report.learning_rate);
  parts.optimizer.step(sums.first(gradients));
  report.metrics = decode_metrics(sums.subspan(gradients), turn.members);
  return report;
}

std::int64_t count_correct(const Array& logits, const Array& labels) {
  const Array rows = logits.is_contiguous() ? logits : logits.contiguous();
  const auto values = std::span<const float>(rows.flat<float>());
  const auto targets = std::span<const std::int64_t>(labels.flat<std::int64_t>());
  const auto classes = static_cast<std::size_t>(rows.dim(1));
  std::int64_t correct = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    const auto line = values.subspan(row * classes, classes);
    const auto best = std::max_element(line.begin(), line.end()) - line.begin();
    correct += best == targets[row] ? 1 : 0;
  }
  return correct;
}

}  // namespace weft
