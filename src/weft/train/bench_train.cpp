#include "weft/train/bench_train.h"

#if defined(__unix__)
#include <sys/resource.h>
#endif

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "weft/autograd/backward.h"
#include "weft/base/file.h"
#include "weft/base/machine_peak.h"
#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/nn/zoo.h"
#include "weft/op/loss.h"
#include "weft/op/shape.h"
#include "weft/optim/optimizer.h"
#include "weft/train/capture/captured_step.h"
#include "weft/train/update/precision.h"

namespace weft {
namespace {

constexpr std::size_t kStepsMin = 30;
constexpr std::size_t kStepsMax = 20000;
constexpr int kWarmUpSteps = 3;
// As many batches are made beforehand and used in turn.
constexpr std::uint64_t kBatches = 4;

struct Workload {
  std::string name;
  std::string model;
  ModelOptions options;
  std::int64_t batch = 64;
  bool adamw = false;
};

std::vector<Workload> workloads() {
  const ModelOptions small = {};
  const ModelOptions color = {.channels = 3, .height = 32, .width = 32};
  const ModelOptions gpt4 = {.context = 128, .layers = 4, .embedding_width = 128, .heads = 4};
  const ModelOptions gpt6 = {.context = 256, .layers = 6, .embedding_width = 384, .heads = 6};
  const ModelOptions lstm = {
      .hidden_units = 256, .context = 64, .layers = 2, .embedding_width = 64};
  return {{"mlp", "mlp", small},
          {"cnn", "cnn", small},
          {"resnet9", "resnet9", color},
          {"gpt4x128", "char_gpt", gpt4, 16, true},
          {"gpt6x384", "char_gpt", gpt6, 8, true},
          {"lstm2x256", "lstm_lm", lstm, 32}};
}

Workload workload_of(const std::string& name) {
  for (const Workload& workload : workloads()) {
    if (workload.name == name) return workload;
  }
  return {name, name, ModelOptions{}};
}

// Inputs and labels of one step.
struct FixedBatch {
  Array inputs;
  Array labels;
};

void fill_below(Array& values, Rng& rng, std::int64_t bound) {
  for (std::int64_t& value : values.flat<std::int64_t>()) {
    value = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(bound)));
  }
}

FixedBatch make_fixed_batch(const Workload& workload, ModelInput kind, std::uint64_t stream) {
  Rng rng(1, stream);
  const ModelOptions& shape = workload.options;
  if (kind == ModelInput::kTokens) {
    const Shape tokens = {workload.batch, shape.context};
    FixedBatch batch{Array::empty(tokens, DType::kI64), Array::empty(tokens, DType::kI64)};
    fill_below(batch.inputs, rng, shape.vocabulary);
    fill_below(batch.labels, rng, shape.vocabulary);
    batch.labels = batch.labels.reshape({-1});
    return batch;
  }
  FixedBatch batch{Array::empty({workload.batch, shape.channels, shape.height, shape.width}),
                   Array::empty({workload.batch}, DType::kI64)};
  for (float& pixel : batch.inputs.flat<float>()) pixel = static_cast<float>(rng.normal());
  fill_below(batch.labels, rng, shape.classes);
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

double quantile(const std::vector<double>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(last * share))];
}

std::int64_t peak_rss_bytes() {
#if defined(__unix__)
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) return std::int64_t{usage.ru_maxrss} * 1024;
#endif
  return 0;
}

double watched_step(const Parts& parts, const FixedBatch& batch, StepProfiler* profiler) {
  if (profiler == nullptr) return step(parts, batch);
  const LaunchProfile::Scope scope(profiler->launches());
  return step(parts, batch);
}

// Runs the steps and fills in what was measured. `profiler` may be null.
void measure(const Parts& parts, std::span<const FixedBatch> batches, const TimePoint& end,
             const Clock& clock, StepProfiler* profiler, TrainBenchResult& result) {
  std::vector<double> times_ms;
  TimePoint before = clock.now();
  while (times_ms.size() < kStepsMin || (before < end && times_ms.size() < kStepsMax)) {
    result.loss = watched_step(parts, batches[times_ms.size() % batches.size()], profiler);
    const TimePoint after = clock.now();
    times_ms.push_back(to_seconds(after - before) * 1e3);
    if (profiler != nullptr) profiler->add_step(before, after);
    // Adding up is no part of a step.
    before = profiler != nullptr ? clock.now() : after;
  }
  std::sort(times_ms.begin(), times_ms.end());
  result.steps = static_cast<std::int64_t>(times_ms.size());
  result.median_ms = quantile(times_ms, 0.5);
  result.p10_ms = quantile(times_ms, 0.1);
  result.p90_ms = quantile(times_ms, 0.9);
  result.peak_rss_bytes = peak_rss_bytes();
}

Status write_trace(const TrainBenchOptions& options, const StepProfiler& profiler) {
  if (options.trace_path.empty()) return {};
  const std::string text = to_chrome_trace(profiler.traced());
  return write_output_file(options.trace_path, as_bytes(text));
}

ProfileReport report_with_peaks(const StepProfiler& profiler) {
  ProfileReport report = profiler.report();
  report.peak_flops = measure_peak_flops();
  report.triad_bytes = measure_triad_bandwidth();
  return report;
}

Status check_options(const TrainBenchOptions& options) {
  if (options.batch < 0 || options.threads < 1) {
    return invalid_argument("bench train: expected a batch of 0 or more and at least one thread");
  }
  if (!is_precision(options.precision)) {
    return invalid_argument("bench train: expected precision f32, bf16 or f16, got " +
                            options.precision);
  }
  if (options.trace_path.empty()) return {};
  return check_output_file(options.trace_path, options.replace_trace);
}

}  // namespace

std::vector<std::string> train_bench_workloads() {
  std::vector<std::string> names;
  for (const Workload& workload : workloads()) names.push_back(workload.name);
  return names;
}

Result<TrainBenchResult> bench_train(const TrainBenchOptions& options, const Clock& clock) {
  WEFT_TRY(check_options(options));
  set_thread_count(options.threads);
  Workload workload = workload_of(options.model);
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
  std::optional<StepProfiler> profiler;
  if (options.profile || !options.trace_path.empty()) {
    profiler.emplace(clock, options.trace_path.empty() ? 0 : StepProfiler::kTracedSteps);
  }
  measure(parts, batches, deadline_after(clock, options.duration), clock,
          profiler ? &*profiler : nullptr, result);
  if (profiler) {
    WEFT_TRY(write_trace(options, *profiler));
    result.profile = report_with_peaks(*profiler);
  }
  return result;
}

std::string to_json(const TrainBenchResult& result) {
  nlohmann::ordered_json json = {
      {"model", result.model},         {"batch", result.batch},
      {"threads", result.threads},     {"precision", result.precision},
      {"median_ms", result.median_ms}, {"p10_ms", result.p10_ms},
      {"p90_ms", result.p90_ms},       {"steps", result.steps},
      {"loss", result.loss},           {"peak_rss_bytes", result.peak_rss_bytes},
  };
  if (result.profile) json["profile"] = nlohmann::ordered_json::parse(to_json(*result.profile));
  return json.dump();
}

}  // namespace weft
