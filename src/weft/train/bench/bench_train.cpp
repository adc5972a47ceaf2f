#include "weft/train/bench/bench_train.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "weft/autograd/backward.h"
#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/nn/zoo.h"
#include "weft/op/loss.h"
#include "weft/op/shape.h"
#include "weft/optim/optimizer.h"
#include "weft/train/bench/bench_workload.h"
#include "weft/train/capture/captured_step.h"
#include "weft/train/update/precision.h"

namespace weft {
namespace {

constexpr int kWarmUpSteps = 3;
// As many batches are made beforehand and used in turn.
constexpr std::uint64_t kBatches = 4;

// Inputs and labels of one step.
struct FixedBatch {
  Array inputs;
  Array labels;
};

FixedBatch make_fixed_batch(const BenchWorkload& workload, ModelInput kind, std::uint64_t stream) {
  Rng rng(1, stream);
  const ModelOptions& shape = workload.options;
  FixedBatch batch{draw_model_inputs(kind, shape, workload.batch, rng), Array()};
  const bool tokens = kind == ModelInput::kTokens;
  batch.labels = Array::empty({tokens ? batch.inputs.size() : workload.batch}, DType::kI64);
  draw_below(batch.labels, rng, tokens ? shape.vocabulary : shape.classes);
  return batch;
}

// What a step computes with.
struct Parts {
  Module& model;
  Optimizer& optimizer;
  CapturedStep* captured;  // null: eager
  DType precision;
};

double step(const Parts& parts, const FixedBatch& batch) {
  const ShardWorkFunction work = [&](const Array& inputs, const Array& labels,
                                     const GradientSink& sink) {
    const LowPrecision low(parts.model, parts.precision);
    Tensor logits = LowPrecision::output(parts.model.forward(low.input(inputs)));
    if (logits.ndim() != 2) logits = reshape(logits, {-1, logits.dim(-1)});
    const Tensor loss = cross_entropy(logits, labels);
    logits = Tensor();
    BackwardOptions options;
    options.leaf_gradients = LeafGradients::kOverwrite;
    backward(loss, sink, options);
    return ShardOutput{loss.array(), loss.array()};
  };
  const ShardOutput output =
      parts.captured != nullptr
          ? parts.captured->run(batch.inputs, batch.labels, "", work, GradientSink())
          : work(batch.inputs, batch.labels, GradientSink());
  parts.optimizer.step();
  return output.loss.item();
}

Status check_options(const TrainBenchOptions& options) {
  if (options.batch < 0 || options.threads < 1) {
    return invalid_argument("bench train: expected a batch of 0 or more and at least one thread");
  }
  if (!is_precision(options.precision)) {
    return invalid_argument("bench train: expected precision f32, bf16 or f16, got " +
                            options.precision);
  }
  return BenchProfile::check(options.profile);
}

}  // namespace

Result<TrainBenchResult> bench_train(const TrainBenchOptions& options, const Clock& clock) {
  WEFT_TRY(check_options(options));
  set_thread_count(options.threads);
  BenchWorkload workload = bench_workload(options.model);
  if (options.batch > 0) workload.batch = options.batch;
  workload.options.checkpoint_blocks = options.checkpoint_blocks;
  WEFT_TRY_ASSIGN(const std::unique_ptr<Module> model,
                  make_model(workload.model, workload.options));
  ParameterArena arena(model->layout());
  model->bind(arena);
  OptimizerOptions rule;
  if (workload.adamw) {
    rule.name = "adamw";
    rule.learning_rate = 3e-4;
    rule.weight_decay = 0.01;
  } else {
    rule.momentum = 0.9;
  }
  WEFT_TRY_ASSIGN(const std::unique_ptr<Optimizer> optimizer, make_optimizer(rule, arena));
  std::vector<FixedBatch> batches;
  for (std::uint64_t i = 0; i < kBatches; ++i) {
    batches.push_back(make_fixed_batch(workload, find_model(workload.model)->input, i));
  }
  CapturedStep captured;
  const Parts parts{*model, *optimizer, options.capture ? &captured : nullptr,
                    precision_dtype(options.precision)};
  for (int i = 0; i < kWarmUpSteps; ++i) step(parts, batches[0]);
  TrainBenchResult result{options.model, workload.batch, options.threads, options.precision};
  BenchProfile profile(options.profile, clock);
  result.times = profile.time_runs({.duration = options.duration}, [&](std::size_t index) {
    result.loss = step(parts, batches[index % batches.size()]);
  });
  result.peak_rss_bytes = peak_rss_bytes();
  WEFT_TRY_ASSIGN(result.profile, profile.finish());
  return result;
}

std::string to_json(const TrainBenchResult& result) {
  const BenchTimes& times = result.times;
  nlohmann::ordered_json json = {
      {"model", result.model},        {"batch", result.batch},
      {"threads", result.threads},    {"precision", result.precision},
      {"median_ms", times.median_ms}, {"p10_ms", times.p10_ms},
      {"p90_ms", times.p90_ms},       {"steps", times.runs},
      {"loss", result.loss},          {"peak_rss_bytes", result.peak_rss_bytes},
  };
  if (result.profile) json["profile"] = nlohmann::ordered_json::parse(to_json(*result.profile));
  return json.dump();
}

}  // namespace weft
