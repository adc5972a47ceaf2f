#include "weft/train/bench_train.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>

#include "weft/autograd/backward.h"
#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/nn/zoo.h"
#include "weft/op/loss.h"
#include "weft/optim/optimizer.h"

namespace weft {
namespace {

constexpr std::size_t kStepsMin = 10;
constexpr std::size_t kStepsMax = 20000;
constexpr int kWarmUpSteps = 5;
// As many batches are made beforehand and used in turn.
constexpr std::uint64_t kBatches = 4;

struct Batch {
  Array images;
  Array labels;
};

Batch make_batch(std::int64_t size, const ModelOptions& shape, std::uint64_t stream) {
  Rng rng(1, stream);
  Batch batch{Array::empty({size, shape.channels, shape.height, shape.width}),
              Array::empty({size}, DType::kI64)};
  for (float& pixel : batch.images.flat<float>()) pixel = static_cast<float>(rng.normal());
  for (std::int64_t& label : batch.labels.flat<std::int64_t>()) {
    label = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(shape.classes)));
  }
  return batch;
}

double step(Module& model, Optimizer& optimizer, const Batch& batch) {
  const Tensor logits = model.forward(Tensor(batch.images));
  const Tensor loss = cross_entropy(logits, batch.labels);
  BackwardOptions options;
  options.leaf_gradients = LeafGradients::kOverwrite;
  backward(loss, GradientSink(), options);
  optimizer.step();
  return loss.item();
}

double quantile(const std::vector<double>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(last * share))];
}

}  // namespace

Result<TrainBenchResult> bench_train(const TrainBenchOptions& options, const Clock& clock) {
  if (options.batch < 1 || options.threads < 1) {
    return invalid_argument("bench train: expected a batch and threads of at least 1");
  }
  set_thread_count(options.threads);
  const ModelOptions shape;
  WEFT_TRY_ASSIGN(const std::unique_ptr<Module> model, make_model(options.model, shape));
  ParameterArena arena(model->layout());
  model->bind(arena);
  OptimizerOptions sgd;
  sgd.momentum = 0.9;
  WEFT_TRY_ASSIGN(const std::unique_ptr<Optimizer> optimizer, make_optimizer(sgd, arena));
  std::vector<Batch> batches;
  for (std::uint64_t i = 0; i < kBatches; ++i) {
    batches.push_back(make_batch(options.batch, shape, i));
  }
  for (int i = 0; i < kWarmUpSteps; ++i) step(*model, *optimizer, batches[0]);

  TrainBenchResult result{options.model, options.batch, options.threads};
  std::vector<double> times_ms;
  const TimePoint end = deadline_after(clock, options.duration);
  TimePoint before = clock.now();
  while (times_ms.size() < kStepsMin || (before < end && times_ms.size() < kStepsMax)) {
    result.loss = step(*model, *optimizer, batches[times_ms.size() % kBatches]);
    const TimePoint after = clock.now();
    times_ms.push_back(to_seconds(after - before) * 1e3);
    before = after;
  }
  std::sort(times_ms.begin(), times_ms.end());
  result.steps = static_cast<std::int64_t>(times_ms.size());
  result.median_ms = quantile(times_ms, 0.5);
  result.p10_ms = quantile(times_ms, 0.1);
  result.p90_ms = quantile(times_ms, 0.9);
  return result;
}

std::string to_json(const TrainBenchResult& result) {
  return nlohmann::ordered_json{
      {"model", result.model},         {"batch", result.batch},   {"threads", result.threads},
      {"median_ms", result.median_ms}, {"p10_ms", result.p10_ms}, {"p90_ms", result.p90_ms},
      {"steps", result.steps},         {"loss", result.loss},
  }
      .dump();
}

}  // namespace weft
