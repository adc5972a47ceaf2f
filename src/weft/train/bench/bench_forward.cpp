#include "weft/train/bench/bench_forward.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/data/npy.h"
#include "weft/io/model_file.h"
#include "weft/io/onnx_export.h"
#include "weft/nn/language_model.h"

namespace weft {
namespace {

constexpr int kWarmUpPasses = 3;
constexpr std::size_t kPassesMin = 10;

struct ForwardWorkload {
  LoadedModel loaded;
  std::int64_t batch = 0;
};

// A path has a folder or an extension, which no name of a model has.
bool is_path(const std::string& model) { return model.find_first_of("./") != std::string::npos; }

Result<ForwardWorkload> open_workload(const std::string& model) {
  ForwardWorkload result;
  if (is_path(model)) {
    WEFT_TRY_ASSIGN(result.loaded, load_model(model));
    result.batch = bench_workload(result.loaded.architecture).batch;
    return result;
  }
  const BenchWorkload workload = bench_workload(model);
  WEFT_TRY_ASSIGN(result.loaded.model, make_model(workload.model, workload.options));
  result.loaded.model->train(false);
  result.loaded.architecture = workload.model;
  result.loaded.options = workload.options;
  result.loaded.data.kind = find_model(workload.model)->input == ModelInput::kTokens
                                ? DatasetKind::kTokens
                                : DatasetKind::kImages;
  result.batch = workload.batch;
  return result;
}

// Inputs as the module takes them.
Array draw_inputs(const LoadedModel& loaded, std::int64_t rows) {
  Rng rng(1);
  if (loaded.data.kind == DatasetKind::kRows) {
    Array values = Array::empty({rows, loaded.data.features()});
    for (float& value : values.flat<float>()) value = static_cast<float>(rng.normal());
    return values;
  }
  const ModelInput kind = loaded.is_text() ? ModelInput::kTokens : ModelInput::kImages;
  return draw_model_inputs(kind, loaded.options, rows, rng);
}

Status write_for_rivals(const LoadedModel& loaded, const Array& inputs, const Array& outputs,
                        const std::string& folder) {
  WEFT_TRY_ASSIGN(const OnnxModel onnx,
                  export_onnx(*loaded.model, inputs, {.name = loaded.architecture}));
  WEFT_TRY(write_onnx(folder + "/model.onnx", onnx));
  WEFT_TRY(write_npy(folder + "/input.npy", inputs));
  return write_npy(folder + "/output.npy", outputs);
}

Status measure_passes(const ForwardBenchOptions& options, const LoadedModel& loaded,
                      BenchProfile& profile, ForwardBenchResult& result) {
  const Array inputs = draw_inputs(loaded, result.batch);
  Array outputs;
  for (int i = 0; i < kWarmUpPasses; ++i) {
    WEFT_TRY_ASSIGN(outputs, loaded.compute(inputs));
  }
  if (!options.folder.empty()) {
    WEFT_TRY(write_for_rivals(loaded, inputs, outputs, options.folder));
  }
  outputs = Array();
  Status status;
  result.times =
      profile.time_runs({.runs_min = kPassesMin, .duration = options.duration}, [&](std::size_t) {
        if (const Result<Array> pass = loaded.compute(inputs); !pass.ok()) status = pass.status();
      });
  return status;
}

// Texts that a model continues, each with the likeliest token.
class CachedTexts {
 public:
  CachedTexts(CausalLanguageModel& model, std::int64_t texts)
      : model_(model), tokens_(Array::zeros({texts, 1}, DType::kI64)) {
    restart();
  }

  // One token for each text; a text that fills the context begins again.
  void step() {
    if (model_.context() > 0 && caches_[0].tokens >= model_.context()) restart();
    std::vector<TextCache*> rows;
    for (TextCache& cache : caches_) rows.push_back(&cache);
    const Array logits = model_.forward_texts(Tensor(tokens_), rows).array().strided().contiguous();
    const std::span<const float> values = logits.flat<float>();
    const auto vocabulary = static_cast<std::ptrdiff_t>(logits.dim(-1));
    auto row = values.begin();
    // The graph-free pass has read the old tokens by now.
    for (std::int64_t& token : tokens_.flat<std::int64_t>()) {
      token = std::max_element(row, row + vocabulary) - row;
      row += vocabulary;
    }
  }

 private:
  void restart() { caches_ = std::vector<TextCache>(static_cast<std::size_t>(tokens_.dim(0))); }

  CausalLanguageModel& model_;
  Array tokens_;  // the latest of each text, i64 [texts, 1]
  std::vector<TextCache> caches_;
};

Status measure_cached(const ForwardBenchOptions& options, const LoadedModel& loaded,
                      BenchProfile& profile, ForwardBenchResult& result) {
  auto* const model = dynamic_cast<CausalLanguageModel*>(loaded.model.get());
  if (model == nullptr || !options.folder.empty()) {
    return invalid_argument(
        "bench forward: --cached measures models of text and writes no files; got " +
        (model == nullptr ? options.model : "--write"));
  }
  const PreparedWeights::Use use(loaded.prepared_weights.get());
  CachedTexts texts(*model, result.batch);
  for (int i = 0; i < kWarmUpPasses; ++i) texts.step();
  result.times = profile.time_runs({.runs_min = kPassesMin, .duration = options.duration},
                                   [&](std::size_t) { texts.step(); });
  result.tokens_per_second =
      static_cast<double>(result.batch * result.times.runs) / (result.times.total_ms * 1e-3);
  return {};
}

}  // namespace

Result<ForwardBenchResult> bench_forward(const ForwardBenchOptions& options, const Clock& clock) {
  if (options.batch < 0 || options.threads < 1) {
    return invalid_argument("bench forward: expected a batch of 0 or more and at least one thread");
  }
  WEFT_TRY(BenchProfile::check(options.profile));
  WEFT_TRY_ASSIGN(const WeightPrecision weights, parse_weight_precision(options.weights));
  set_thread_count(options.threads);
  WEFT_TRY_ASSIGN(ForwardWorkload workload, open_workload(options.model));
  workload.loaded.keep_prepared_weights(weights);
  if (!options.folder.empty() && workload.loaded.data.has_values()) {
    return invalid_argument("bench forward: expected a model of classes or texts for --write");
  }
  ForwardBenchResult result;
  result.model = options.model;
  result.batch = options.batch > 0 ? options.batch : workload.batch;
  result.threads = options.threads;
  result.weights = options.weights;
  result.parameters = workload.loaded.parameters();
  BenchProfile profile(options.profile, clock);
  WEFT_TRY(options.cached ? measure_cached(options, workload.loaded, profile, result)
                          : measure_passes(options, workload.loaded, profile, result));
  result.peak_rss_bytes = peak_rss_bytes();
  WEFT_TRY_ASSIGN(result.profile, profile.finish());
  if (result.profile) result.profile->unit = "pass";
  return result;
}

std::string to_json(const ForwardBenchResult& result) {
  const BenchTimes& times = result.times;
  nlohmann::ordered_json json = {
      {"model", result.model},           {"batch", result.batch},
      {"threads", result.threads},       {"weights", result.weights},
      {"median_ms", times.median_ms},    {"p10_ms", times.p10_ms},
      {"p90_ms", times.p90_ms},          {"runs", times.runs},
      {"parameters", result.parameters}, {"peak_rss_bytes", result.peak_rss_bytes},
  };
  if (result.tokens_per_second > 0) json["tokens_per_second"] = result.tokens_per_second;
  if (result.profile) json["profile"] = nlohmann::ordered_json::parse(to_json(*result.profile));
  return json.dump();
}

}  // namespace weft
