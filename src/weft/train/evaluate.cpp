#include "weft/train/evaluate.h"

#include <algorithm>
#include <stdexcept>

#include "weft/op/loss.h"
#include "weft/train/step.h"

namespace weft {
namespace {

constexpr std::int64_t kRowsAtOnce = 128;

}  // namespace

RoundMetrics evaluate_shard(Module& model, const Dataset& dataset, ShardRange shard,
                            Normalization normalization) {
  const NoGrad no_grad;
  model.train(false);
  const double scale = 1.0 / static_cast<double>(dataset.size);
  RoundMetrics sum;
  for (std::int64_t begin = shard.begin; begin < shard.end; begin += kRowsAtOnce) {
    const std::int64_t end = std::min(shard.end, begin + kRowsAtOnce);
    Result<Batch> made = make_batch(dataset, begin, end, {.normalization = normalization});
    if (!made.ok()) throw std::invalid_argument(made.status().message());
    const Batch& batch = *made;
    const Tensor logits = model.forward(Tensor(batch.inputs));
    sum.loss += cross_entropy(logits, batch.labels, {Reduction::kSum, scale}).item();
    sum.correct += static_cast<double>(count_correct(logits.array(), batch.labels));
  }
  sum.samples = static_cast<double>(shard.size());
  model.train(true);
  return sum;
}

}  // namespace weft
