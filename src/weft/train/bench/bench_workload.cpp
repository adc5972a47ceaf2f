#include "weft/train/bench/bench_workload.h"

#if defined(__unix__)
#include <sys/resource.h>
#endif

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

std::vector<BenchWorkload> all_workloads() {
  const ModelOptions small = {};
  const ModelOptions color = {.channels = 3, .height = 32, .width = 32};
  const ModelOptions gpt4 = {.context = 128, .layers = 4, .embedding_width = 128, .heads = 4};
  const ModelOptions gpt6 = {.context = 256, .layers = 6, .embedding_width = 384, .heads = 6};
  // 124 million parameters.
  const ModelOptions gpt12 = {
      .vocabulary = 25'000, .context = 256, .layers = 12, .embedding_width = 768, .heads = 12};
  const ModelOptions photo = {.channels = 3, .height = 224, .width = 224, .classes = 1000};
  const ModelOptions lstm = {
      .hidden_units = 256, .context = 64, .layers = 2, .embedding_width = 64};
  return {{"mlp", "mlp", small},
          {"cnn", "cnn", small},
          {"resnet9", "resnet9", color},
          {"resnet18", "resnet18", color},
          {"gpt4x128", "char_gpt", gpt4, 16, true},
          {"gpt6x384", "char_gpt", gpt6, 8, true},
          {"llama4x128", "llama", gpt4, 16, true},
          {"lstm2x256", "lstm_lm", lstm, 32},
          {"resnet18_224", "resnet18", photo, 16},
          {"gpt12x768", "char_gpt", gpt12, 4, true}};
}

double quantile_of(const std::vector<double>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(last * share))];
}

}  // namespace

std::vector<std::string> bench_workload_names() {
  std::vector<std::string> names;
  for (const BenchWorkload& workload : all_workloads()) names.push_back(workload.name);
  return names;
}

BenchWorkload bench_workload(const std::string& name) {
  for (const BenchWorkload& workload : all_workloads()) {
    if (workload.name == name) return workload;
  }
  return {name, name, ModelOptions{}};
}

void draw_below(Array& values, Rng& rng, std::int64_t bound) {
  for (std::int64_t& value : values.flat<std::int64_t>()) {
    value = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(bound)));
  }
}

Array draw_model_inputs(ModelInput kind, const ModelOptions& options, std::int64_t rows, Rng& rng) {
  if (kind == ModelInput::kTokens) {
    Array tokens = Array::empty({rows, options.context}, DType::kI64);
    draw_below(tokens, rng, options.vocabulary);
    return tokens;
  }
  Array images = Array::empty({rows, options.channels, options.height, options.width});
  for (float& pixel : images.flat<float>()) pixel = static_cast<float>(rng.normal());
  return images;
}

BenchTimes time_runs(const BenchRuns& limits, const Clock& clock,
                     const std::function<void(std::size_t index)>& run,
                     const std::function<void(const TimePoint&, const TimePoint&)>& added) {
  const TimePoint end = deadline_after(clock, limits.duration);
  std::vector<double> times_ms;
  BenchTimes result;
  TimePoint before = clock.now();
  while (times_ms.size() < limits.runs_min || (before < end && times_ms.size() < limits.runs_max)) {
    run(times_ms.size());
    const TimePoint after = clock.now();
    times_ms.push_back(to_seconds(after - before) * 1e3);
    result.total_ms += times_ms.back();
    if (added) added(before, after);
    before = added ? clock.now() : after;
  }
  std::sort(times_ms.begin(), times_ms.end());
  result.runs = static_cast<std::int64_t>(times_ms.size());
  result.median_ms = quantile_of(times_ms, 0.5);
  result.p10_ms = quantile_of(times_ms, 0.1);
  result.p90_ms = quantile_of(times_ms, 0.9);
  return result;
}

std::int64_t peak_rss_bytes() {
#if defined(__unix__)
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) return std::int64_t{usage.ru_maxrss} * 1024;
#endif
  return 0;
}

}  // namespace weft
