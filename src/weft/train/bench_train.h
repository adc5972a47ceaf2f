// bench_train(): times whole training steps of a model from the zoo, alone and on made-up images.
//
// Behind `weft bench train`. A step is what the trainer does without an exchange: gradients
// replaced, forward, loss, backward, SGD with momentum 0.9.
// Threads: the caller's and the compute threads, whose number it sets.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/status.h"
#include "weft/base/time.h"

namespace weft {

struct TrainBenchOptions {
  std::string model = "mlp";
  std::int64_t batch = 64;
  int threads = 1;
  // After a few steps that do not count. At least kStepsMin steps are taken.
  Duration duration = from_milliseconds(5000);
};

struct TrainBenchResult {
  std::string model;
  std::int64_t batch = 0;
  int threads = 0;
  std::int64_t steps = 0;
  // Of one step.
  double median_ms = 0;
  double p10_ms = 0;
  double p90_ms = 0;
  // After the last step: a run that diverged or did nothing shows here.
  double loss = 0;
};

// Fails: kInvalidArgument for an unknown model, no images or no threads.
Result<TrainBenchResult> bench_train(const TrainBenchOptions& options, const Clock& clock);

// One JSON object in one line.
std::string to_json(const TrainBenchResult& result);

}  // namespace weft
