#include "weft/train/evaluate.h"

#include <algorithm>
#include <stdexcept>

#include "weft/train/step.h"

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

}  // namespace

RoundMetrics evaluate_shard(Module& model, const Dataset& dataset, ShardRange shard,
                            const BatchOptions& options, const EvaluationProgress& progress) {
  const NoGrad no_grad;
  model.train(false);
  const std::int64_t rows = rows_at_once(dataset);
  const double scale = 1.0 / static_cast<double>(labels_of(dataset));
  RoundMetrics sum;
  for (std::int64_t begin = shard.begin; begin < shard.end; begin += rows) {
    const std::int64_t end = std::min(shard.end, begin + rows);
    Result<Batch> made = make_batch(dataset, begin, end, options);
    if (!made.ok()) throw std::invalid_argument(made.status().message());
    const Batch& batch = *made;
    const Tensor logits = model.forward(Tensor(batch.inputs));
    sum.loss += summed_loss(logits, batch.labels, scale).item();
    sum.correct += count_correct(logits.array(), batch.labels);
    sum.labels += static_cast<double>(batch.labels.size());
    if (progress) progress(end - shard.begin, shard.size());
  }
  sum.samples = static_cast<double>(shard.size());
  model.train(true);
  return sum;
}

}  // namespace weft
