#include "weft/train/step/evaluate.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "weft/train/step/step.h"

namespace weft {
namespace {

constexpr std::int64_t kRowsAtOnce = 128;
constexpr std::int64_t kTokensAtOnce = 4096;

std::int64_t rows_at_once(const Dataset& dataset) {
  if (dataset.kind != DatasetKind::kTokens) return kRowsAtOnce;
  return std::clamp<std::int64_t>(kTokensAtOnce / dataset.context, 1, kRowsAtOnce);
}

std::int64_t labels_of(const Dataset& dataset) {
  if (dataset.kind == DatasetKind::kTokens) return dataset.size * dataset.context;
  return dataset.targets.defined() ? dataset.targets.size() : dataset.size;
}

// Adds how far f32 [n, targets] of predictions are from the labels, both as the model has them.
void add_errors(const Dataset& dataset, const Array& predicted, const Array& labels,
                ValueErrors& sum) {
  const std::vector<float> said = predicted.to_vector<float>();
  const std::vector<float> wanted = labels.to_vector<float>();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double value = wanted[i];
    const double off = value - static_cast<double>(said[i]);
    const std::size_t targets = dataset.target_columns.size();
    const double unit = targets > 0 ? dataset.target_columns[i % targets].deviation : 1.0;
    sum.absolute += std::abs(off) * unit;
    sum.squared += off * off;
    sum.values += value;
    sum.value_squares += value * value;
  }
}

}  // namespace

RoundReport evaluate_shard(Module& model, const Dataset& dataset, ShardRange shard,
                           const BatchOptions& options, const EvaluationWatch& watch) {
  const NoGrad no_grad;
  model.train(false);
  const std::int64_t rows = rows_at_once(dataset);
  const double scale = 1.0 / static_cast<double>(labels_of(dataset));
  RoundReport sum;
  if (dataset.targets.defined()) sum.errors.emplace();
  const bool has_classes = watch.confusion != nullptr && !dataset.targets.defined() &&
                           dataset.kind != DatasetKind::kTokens;
  if (watch.progress) watch.progress(0, shard.size());
  for (std::int64_t begin = shard.begin; begin < shard.end; begin += rows) {
    const std::int64_t end = std::min(shard.end, begin + rows);
    Result<Batch> made = make_batch(dataset, begin, end, options);
    if (!made.ok()) throw std::invalid_argument(made.status().message());
    if (watch.edit) watch.edit(*made);
    const Batch& batch = *made;
    const Tensor logits = model.forward(Tensor(batch.inputs));
    sum.loss += summed_loss(logits, batch.labels, scale).item();
    sum.correct += count_correct(logits.array(), batch.labels);
    if (sum.errors) add_errors(dataset, logits.array(), batch.labels, *sum.errors);
    sum.labels += static_cast<double>(batch.labels.size());
    if (has_classes) watch.confusion->add(logits.array(), batch.labels);
    if (watch.progress) watch.progress(end - shard.begin, shard.size());
  }
  sum.samples = static_cast<double>(shard.size());
  model.train(true);
  return sum;
}

}  // namespace weft
