#include "weft/app/tool_commands.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "weft/app/flags/help_page.h"
#include "weft/app/flags/methods_page.h"
#include "weft/app/member/peer_command.h"
#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/json_output.h"
#include "weft/app/terminal/slow_notice.h"
#include "weft/app/terminal/standard_output.h"
#include "weft/base/parallel.h"
#include "weft/base/printable.h"
#include "weft/base/version.h"
#include "weft/collective/engine/bench_all_reduce.h"
#include "weft/data/catalog.h"
#include "weft/train/bench/bench_forward.h"
#include "weft/train/bench/bench_train.h"
#include "weft/train/event/event.h"
#include "weft/train/model/evaluate_checkpoint.h"
#include "weft/train/recipe/methods.h"
#include "weft/train/recipe/recipe.h"

namespace weft {
namespace {

std::string eval_text(const CheckpointEvaluation& found) {
  const ComputedSums& metrics = found.metrics;
  std::string right;
  if (!std::isnan(metrics.accuracy())) {
    right = fmt::format("accuracy {:.2f} % ({:.0f} of {:.0f}), ", 100.0 * metrics.accuracy(),
                        metrics.correct, metrics.labels);
  }
  if (metrics.errors.has_value()) {
    right =
        fmt::format("R2 {:.4f}, mean absolute error {:.4g}, ", metrics.errors->r2(metrics.labels),
                    metrics.errors->mean_absolute(metrics.labels));
  }
  const std::optional<double>& bits = found.bits_per_character;
  const std::string classes = found.confusion.classes() > 0
                                  ? confusion_text(found.confusion, found.class_names)
                                  : std::string();
  return fmt::format(
      "{}step {}: test {}loss {}{}, state {}\n", classes, found.step, right,
      loss_text(metrics.loss),
      bits.has_value() ? fmt::format(" ({:.4f} bits per character)", *bits) : std::string(),
      found.digest.substr(0, 16));
}

Result<std::string> evaluate(const EvalRequest& request) {
  const SystemClock clock;
  set_thread_count(request.threads);
  SlowNotice notice("measuring " + request.checkpoint + " on the test set");
  WEFT_TRY_ASSIGN(const CheckpointEvaluation found,
                  evaluate_checkpoint(
                      request.checkpoint, data_places(request.data), clock,
                      [&](std::int64_t done, std::int64_t all) {
                        notice.progress(static_cast<double>(done), static_cast<double>(all));
                      },
                      request.weights));
  if (!request.json) return eval_text(found);
  return evaluation_json(found);
}

}  // namespace

ExitCode eval_command(const EvalRequest& request) {
  const Result<std::string> text = evaluate(request);
  if (!text.ok()) return report(text.status());
  print_text(*text);
  return ExitCode::kOk;
}

ExitCode bench_train_command(const BenchTrainRequest& request) {
  const SystemClock clock;
  TrainBenchOptions options;
  options.model = request.model;
  options.batch = request.batch;
  options.threads = request.threads;
  options.duration = from_seconds(request.seconds);
  options.checkpoint_blocks = request.checkpoint_blocks;
  options.capture = !request.eager;
  options.precision = request.precision;
  options.profile = request.profile;
  std::optional<SlowNotice> notice("timing steps of " + request.model);
  const Result<TrainBenchResult> result = bench_train(options, clock);
  notice.reset();
  if (!result.ok()) return report(result.status());
  print_text(request.json
                 ? to_json(*result) + "\n"
                 : fmt::format("{} batch {} with {}: {:.3f} ms a step (10 % {:.3f}, 90 % {:.3f}; "
                               "{} steps)\n",
                               result->model, result->batch, counted(result->threads, "thread"),
                               result->times.median_ms, result->times.p10_ms, result->times.p90_ms,
                               result->times.runs));
  if (!request.json && result->profile) print_text("\n" + to_table(*result->profile));
  return ExitCode::kOk;
}

ExitCode bench_forward_command(const BenchForwardRequest& request) {
  const SystemClock clock;
  ForwardBenchOptions options;
  options.model = request.model;
  options.batch = request.batch;
  options.threads = request.threads;
  options.duration = from_seconds(request.seconds);
  options.cached = request.cached;
  options.weights = request.weights;
  options.folder = request.write;
  options.profile = request.profile;
  std::optional<SlowNotice> notice("timing forward passes of " + request.model);
  const Result<ForwardBenchResult> result = bench_forward(options, clock);
  notice.reset();
  if (!result.ok()) return report(result.status());
  if (request.json) {
    print_text(to_json(*result) + "\n");
    return ExitCode::kOk;
  }
  print_text(fmt::format(
      "{} batch {} with {}: {:.3f} ms a pass (10 % {:.3f}, 90 % {:.3f}; {} runs)", result->model,
      result->batch, counted(result->threads, "thread"), result->times.median_ms,
      result->times.p10_ms, result->times.p90_ms, result->times.runs));
  print_text(request.cached ? fmt::format(", {:.0f} tokens/s\n", result->tokens_per_second) : "\n");
  if (result->profile) print_text("\n" + to_table(*result->profile));
  return ExitCode::kOk;
}

ExitCode bench_all_reduce_command(const BenchAllReduceRequest& request) {
  const Result<AllReduceBenchResult> result = bench_all_reduce(request.options);
  if (!result.ok()) return report(result.status());
  // A rank that was started by itself has nothing to report unless it is the first.
  if (request.options.rank.value_or(0) != 0) return ExitCode::kOk;
  print_text(request.json
                 ? to_json(*result) + "\n"
                 : fmt::format("{} peers, {} bytes over {}: {:.6f} s (best {:.6f}), {:.3f} GB/s "
                               "of bus bandwidth\n",
                               result->peers, result->bytes, result->transport,
                               result->median_seconds, result->min_seconds,
                               result->bus_bandwidth_gb_per_s));
  return ExitCode::kOk;
}

ExitCode data_list_command(const ListRequest& request) {
  const std::vector<DatasetReport> all = list_datasets(data_places());
  print_text(request.json ? datasets_json(all) : data_list_text(all));
  return ExitCode::kOk;
}

ExitCode data_get_command(const ListRequest& request) {
  const Result<DatasetReport> found = find_dataset(request.dataset, data_places());
  if (!found.ok()) return report(found.status());
  print_text(request.json ? datasets_json({*found}) : data_get_text(*found));
  return found->found ? ExitCode::kOk : ExitCode::kUnavailable;
}

ExitCode data_check_command(const ListRequest& request) {
  const SlowNotice notice("reading the files of " + request.dataset);
  const Result<std::vector<FileReport>> files = check_dataset(request.dataset, data_places());
  if (!files.ok()) return report(files.status());
  print_text(request.json ? files_json(request.dataset, *files)
                          : data_check_text(request.dataset, *files));
  for (const FileReport& file : *files) {
    if (!file.status.ok()) return exit_code_of(file.status);
  }
  return ExitCode::kOk;
}

std::string version_text() { return std::string("weft ") + version(); }

ExitCode version_command(const ListRequest& request) {
  print_text(request.json ? field_json("version", version()) : version_text() + "\n");
  return ExitCode::kOk;
}

ExitCode methods_command(const MethodsRequest& request) {
  std::vector<MethodFamily> families = method_families();
  if (!request.name.empty()) {
    const Result<std::vector<MethodFamily>> chosen = choose_methods(families, request.name);
    if (!chosen.ok()) return report(chosen.status());
    families = *chosen;
  }
  print_text(request.json ? methods_json(families) : methods_page(families, help_width()));
  return ExitCode::kOk;
}

ExitCode recipe_keys_command(const ListRequest& request) {
  print_text(request.json ? recipe_keys_json()
                          : recipe_key_table() + "\n" + aggregator_table() + "\n" + codec_table() +
                                "\n" + gate_table() + "\n" + topology_table());
  return ExitCode::kOk;
}

ExitCode events_command(const ListRequest& request) {
  print_text(request.json ? event_kinds_json() : event_page());
  return ExitCode::kOk;
}

}  // namespace weft
