// bench_train(): measures complete training steps, on one machine and on synthetic batches.
//
// Behind `weft bench train`. A step is what the trainer does without an exchange: gradients
// replaced, forward, loss, backward, optimizer. It measures a workload: a model with its sizes,
// batch and optimizer (bench_workload.h), the same that bench/rivals/train_step.py builds in
// PyTorch.
// Threads: the caller's and the compute threads, whose number it sets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/train/bench/bench_profile.h"
#include "weft/train/bench/bench_workload.h"

namespace weft {

struct TrainBenchOptions {
  // A workload ("mlp", "gpt6x384", ...) or, with default sizes, any model of the zoo.
  std::string model = "mlp";
  std::int64_t batch = 0;  // 0: the workload's
  int threads = 1;
  // Keep only the inputs of the blocks of a text model, compute the rest again.
  bool checkpoint_blocks = false;
  // As the recipe key run.precision: "f32", "bf16" or "f16".
  std::string precision = "f32";
  // Steps are recorded once and replayed, as in training; otherwise each is eager.
  bool capture = true;
  // After a few steps that do not count. At least 30 steps are taken.
  Duration duration = from_milliseconds(5000);
  BenchProfileOptions profile;  // of these steps
};

struct TrainBenchResult {
  std::string model;
  std::int64_t batch = 0;
  int threads = 0;
  std::string precision;
  BenchTimes times = {};  // of one step
  // After the last step: a run that diverged or did nothing shows here.
  double loss = 0;
  // The most memory that the process has had in RAM; 0 if the system does not report it.
  std::int64_t peak_rss_bytes = 0;
  // If it was asked for.
  std::optional<ProfileReport> profile = {};
};

// Fails: kInvalidArgument for an unknown model, a negative batch, no threads, or another precision;
// as BenchProfile for a trace.
Result<TrainBenchResult> bench_train(const TrainBenchOptions& options, const Clock& clock);

// One JSON object in one line.
std::string to_json(const TrainBenchResult& result);

}  // namespace weft
